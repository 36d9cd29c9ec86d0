import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { BASH_SCRIPT, ZSH_SCRIPT } from './completion-scripts.ts';
import type { Io } from './io.ts';

/**
 * Adds `completion <shell>`, which prints a script for the shell, and the hidden `complete`, which that script asks for what may come
 * next. Call it when every command is there. Nothing of a deployment is looked at: pressing Tab must not wait for a Redis.
 */
export function addCompletion(program: Command, io: Io): void {
  const root = tab(program, { completionCommandName: 'completion' });
  // The options of every command are the program's own, of which it knows only in front of a command.
  for (const command of root.commands.values())
    for (const [name, option] of root.options)
      if (!command.options.has(name)) command.options.set(name, option);
  // The library's scripts for bash, zsh and PowerShell have the shell evaluate the words of the line: Tab would run a `$(...)` in
  // them. So these are our own, and there is none for PowerShell. Fish's hands words on as arguments.
  const scripts: Readonly<Record<string, () => void>> = {
    bash: () => void io.stdout.write(BASH_SCRIPT),
    zsh: () => void io.stdout.write(ZSH_SCRIPT),
    fish: () => root.setup(program.name(), program.name(), 'fish'),
  };
  const command = program.commands.find((each) => each.name() === 'completion');
  command?.description('print a script that completes commands and options in a shell; see docs/cli.md');
  command?.registeredArguments[0]?.choices(Object.keys(scripts));
  command?.action((shell: string) => scripts[shell]?.());
}
