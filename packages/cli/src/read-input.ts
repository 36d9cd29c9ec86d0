import { createReadStream } from 'node:fs';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import type { CliContext } from './context.ts';

/**
 * The bytes of a file, or of stdin for `-`, as long as they are at most `maxBytes`. Counted while reading: a pipe, a device or a
 * file that still grows has no size to ask for. Throws AppError request_invalid that names the option.
 */
export async function readInput(
  { io }: CliContext,
  option: string,
  path: string,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of path === '-' ? io.stdin : createReadStream(path)) {
      const bytes = Buffer.from(chunk);
      sizeBytes += bytes.length;
      if (sizeBytes > maxBytes) throw tooLarge(option, path, maxBytes);
      chunks.push(bytes);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('request_invalid', `${option}: ${messageOf(error)}`, { cause: error });
  }
  return Buffer.concat(chunks, sizeBytes);
}

const tooLarge = (option: string, path: string, maxBytes: number): AppError =>
  new AppError(
    'request_invalid',
    `${option}: ${path === '-' ? 'stdin' : 'the file'} holds more than ${maxBytes} bytes, which is larger than any request that is taken.`,
  );
