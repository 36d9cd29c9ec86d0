import jsonata from 'jsonata';
import { z } from 'zod';

/** JSONata throws plain objects. */
const Trouble = z.object({
  code: z.string().optional(),
  position: z.number().optional(),
  token: z.unknown().optional(), // without optional() an error that names no token would not match
  message: z.string(),
});

/** The code of an error of JSONata; undefined for any other error. */
export const troubleCode = (error: unknown): string | undefined => Trouble.safeParse(error).data?.code;

/** Where and why, to be put behind the name of the expression: ` at position 3 near {: ...`. */
export function describeTrouble(error: unknown): string {
  const trouble = Trouble.safeParse(error).data;
  if (!trouble) return `: ${error instanceof Error ? error.message : String(error)}`;
  const { position, token, message } = trouble;
  const at = position === undefined ? '' : ` at position ${position}`;
  const near = typeof token === 'string' && token !== '' ? ` near ${token}` : '';
  return `${at}${near}: ${message}`;
}

/**
 * A JSONata expression in configuration. Only its syntax is looked at, here, so that its mistakes are told together with
 * the file's others; packages/erp compiles it with its bounds and runs it.
 */
export const expression = z
  .string()
  .min(1, 'expected a JSONata expression')
  .superRefine((source, context) => {
    try {
      if (source !== '') jsonata(source);
    } catch (error) {
      context.addIssue({ code: 'custom', message: `no valid JSONata${describeTrouble(error)}` });
    }
  });
