import type { BreakwaterConfig } from '@breakwater/contracts/config';
import {
  examineRedis,
  examineService,
  examineTarget,
  examineWork,
  type Finding,
  OPS_PORTS,
  problem,
} from '@breakwater/core/doctor';
import { AppError } from '@breakwater/runtime/errors';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { count } from '../output/count.ts';
import { renderFields } from '../output/table.ts';
import { withDeliveries, withStore } from '../store-access.ts';
import { examineConfig } from './doctor-config.ts';

/** `doctor`: looks at everything that a deployment needs, and says what to do about what is not well. Changes nothing. */
export function doctorCommand(program: Command, context: CliContext): void {
  program
    .command('doctor')
    .description(
      'check configuration, Redis, ERPs, services and stuck work; says what to do. Exit code 1 when there is a problem',
    )
    .option('--strict', 'exit code 1 for warnings too')
    .option(
      '--host <host>',
      'where the services of this deployment are asked whether they are ready',
      '127.0.0.1',
    )
    .action(context.action((options: DoctorOptions) => doctor(context, options)));
}

interface DoctorOptions {
  readonly strict?: boolean;
  readonly host: string;
}

async function doctor(context: CliContext, { strict, host }: DoctorOptions): Promise<number> {
  const { config, findings: ofConfig } = examineConfig(context);
  const findings = [
    ...ofConfig,
    ...(await ofRedis(context, config)),
    ...(await ofWork(context, config)),
    ...(await Promise.all(
      Object.entries(config?.erpTargets ?? {}).map(([name, { adapter }]) =>
        examineTarget(name, adapter.baseUrl),
      ),
    )),
    ...(await Promise.all(
      Object.entries(OPS_PORTS).map(([name, port]) => examineService(name, host, port + offsetOf(context))),
    )),
  ];
  const problems = findings.filter(({ level }) => level === 'problem').length;
  const warnings = findings.filter(({ level }) => level === 'warning').length;
  const healthy = problems === 0 && !(strict && warnings > 0);
  context.print({ ok: healthy, problems, warnings, findings }, () => render(findings, problems, warnings));
  return healthy ? EXIT.ok : EXIT.failure;
}

const offsetOf = ({ io }: CliContext): number => Number(io.env['PORT_OFFSET'] ?? 0) || 0;

/** What cannot be asked is a finding too: the other checks go on. */
async function unlessUnreachable(work: () => Promise<Finding[]>, otherwise: (error: AppError) => Finding[]) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return otherwise(error);
  }
}

const ofRedis = (context: CliContext, config: BreakwaterConfig | undefined): Promise<Finding[]> =>
  unlessUnreachable(
    () =>
      withStore(context, ({ redis }) =>
        examineRedis(redis, config, context.environment().DURABILITY === 'relaxed'),
      ),
    (error) => [problem('Redis', error.message, error.remedy)],
  );

/** Without Redis or a configuration there is nothing to look at, and the finding that says so is there already. */
const ofWork = (context: CliContext, config: BreakwaterConfig | undefined): Promise<Finding[]> =>
  config === undefined
    ? Promise.resolve([])
    : unlessUnreachable(
        () => withDeliveries(context, examineWork),
        () => [],
      );

const MARKS = { ok: 'ok', warning: 'WARNING', problem: 'PROBLEM' } as const;

function render(findings: readonly Finding[], problems: number, warnings: number): string {
  const lines = findings.flatMap(({ check, level, says, remedy }): [string, string][] => [
    [`${MARKS[level].padEnd(8)} ${check}`, says],
    ...(remedy === '' ? [] : [['', remedy] as [string, string]]),
  ]);
  const sum =
    problems + warnings === 0
      ? 'Everything that was looked at is well.'
      : `${count(problems, 'problem')}, ${count(warnings, 'warning')}.`;
  return `${renderFields(lines)}\n\n${sum}`;
}
