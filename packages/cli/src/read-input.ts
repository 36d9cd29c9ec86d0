import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { AppError, codeOf, messageOf } from '@breakwater/runtime/errors';
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
    throw unreadable(option, path, error);
  }
  return Buffer.concat(chunks, sizeBytes);
}

/** What a file that could not be read is told as. A system's own words name the call that failed, not what to do. */
export function unreadable(option: string, path: string, error: unknown): AppError {
  return new AppError('request_invalid', `${option}: ${whyUnreadable(path, error)}`, { cause: error });
}

function whyUnreadable(path: string, error: unknown): string {
  const file = path === '-' ? 'stdin' : path;
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return `there is no file ${file} (looked for ${resolve(path)}). Give the path of one that is there, or - for stdin.`;
    case 'EACCES':
    case 'EPERM':
      return `this account may not read ${file}. Give it the right to, or hand the content on with - (stdin).`;
    case 'EISDIR':
      return `${file} is a directory. Give the path of a file.`;
    case undefined:
    default:
      return `${file} cannot be read: ${messageOf(error)}`;
  }
}

const tooLarge = (option: string, path: string, maxBytes: number): AppError =>
  new AppError(
    'request_invalid',
    `${option}: ${path === '-' ? 'stdin' : 'the file'} holds more than ${maxBytes} bytes, which is larger than any request that is taken.`,
  );
