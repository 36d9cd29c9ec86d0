import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';

/** What the script for bash needs of the package bash-completion, which is not installed everywhere. */
const WITHOUT_BASH_COMPLETION = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        words=("\${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=\${COMP_WORDS[COMP_CWORD]}
        prev=\${COMP_WORDS[COMP_CWORD - 1]}
    }
fi
`;

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
  const command = program.commands.find((each) => each.name() === 'completion');
  command
    ?.description('print a script that completes commands and options in a shell; see docs/cli.md')
    .hook('preAction', (_program, { args }) => {
      if (args[0] === 'bash') io.stdout.write(WITHOUT_BASH_COMPLETION);
    });
}
