import { z } from 'zod';

export const Answer = z.strictObject({
  status: z.int().min(200).max(599),
  body: z.string().optional(),
  contentType: z.string().default('text/plain; charset=utf-8'),
});
export type Answer = z.infer<typeof Answer>;

/** Sources may override these answers; some providers insist on a status or a body. */
export const ANSWER_KINDS = ['accepted', 'duplicate', 'signature', 'rejected', 'unavailable'] as const;
export type AnswerKind = (typeof ANSWER_KINDS)[number];

export const Answers = z.partialRecord(z.enum(ANSWER_KINDS), Answer).default({}).superRefine(checkAnswers);

/** A success that does not look like one makes a storm; an outage that does loses events. */
function checkAnswers(answers: Partial<Record<AnswerKind, Answer>>, context: z.core.$RefinementCtx): void {
  for (const kind of ANSWER_KINDS) {
    const status = answers[kind]?.status;
    if (status === undefined) continue;
    const success = status >= 200 && status <= 299;
    const expected =
      kind === 'accepted' || kind === 'duplicate'
        ? success
          ? undefined
          : '2xx, or the provider repeats what was taken'
        : kind === 'unavailable'
          ? status >= 500
            ? undefined
            : '5xx: many providers never repeat anything else, and the event would be lost'
          : success
            ? '3xx to 5xx, or the provider takes a refusal for a success'
            : undefined;
    if (expected !== undefined)
      context.addIssue({ code: 'custom', path: [kind, 'status'], message: `expected ${expected}` });
  }
}
