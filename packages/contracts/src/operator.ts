import { z } from 'zod';

/**
 * Name of an operator. It is part of Redis keys, where a colon would let one operator's lists be another's
 * (`endpoints:a:version` is a counter of operator `a`).
 */
export const operatorName = z
  .string()
  .regex(
    /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
    'expected an operator: letters, digits, - . and _ inside, at most 63',
  );
