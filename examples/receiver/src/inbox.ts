import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const NEWLINE = 0x0a;

/** One received message. `id` is its webhook-id: the same in every retry and replay. */
export interface Message {
  readonly id: string;
  readonly body: string;
}

/** A line of the file: a message was committed, or the work on a message is done. */
type Line = Message | { readonly done: string };

interface Entry {
  /** Resolves when the message is on disk; rejects when it could not be written. */
  readonly written: Promise<void>;
  /** 0 until it is on disk. */
  deliveries: number;
}

/**
 * Which messages this receiver has, in an append-only file of JSON lines. A message is in here before it is answered with
 * 2xx, body included: after that answer nobody will send it again.
 *
 * The file belongs to one process, and all ids stay in memory. With a database, use a table with a unique key on the id
 * instead; the rules stay the same.
 */
export class Inbox {
  readonly #file: FileHandle;
  readonly #entries = new Map<string, Entry>();
  readonly #unfinished = new Map<string, Message>();
  #sizeBytes: number; // how much of the file is known to be good
  #torn = false;
  #batch: { lines: Line[]; written: Promise<void> } | undefined;
  #lastWrite: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle, sizeBytes: number, lines: readonly Line[]) {
    this.#file = file;
    this.#sizeBytes = sizeBytes;
    for (const line of lines) {
      if ('done' in line) {
        this.#unfinished.delete(line.done);
      } else {
        this.#entries.set(line.id, { written: Promise.resolve(), deliveries: 1 });
        this.#unfinished.set(line.id, line);
      }
    }
  }

  /** Opens or creates the file and its directory. Throws when it cannot be read or written, or when it is damaged before its last line. */
  static async open(path: string): Promise<Inbox> {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(path, 'a+');
    try {
      const bytes = await file.readFile();
      // A last line without its end was being written when the process died. It was never answered with 2xx.
      const sizeBytes = bytes.lastIndexOf(NEWLINE) + 1;
      const lines = parseLines(path, bytes.toString('utf8', 0, sizeBytes));
      await file.truncate(sizeBytes);
      // What was read may have been written, but not flushed, by a process that died: from here on it counts as committed.
      await file.sync();
      await syncDirectory(dirname(resolve(path)));
      return new Inbox(file, sizeBytes, lines);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Makes a message durable and resolves to 'committed', or to 'duplicate' when its id is already here. Of two that come at
   * the same moment the second waits for the first. Rejects when it cannot be written: the id is then not remembered, so
   * that a retry gets its chance.
   */
  async commit(message: Message): Promise<'committed' | 'duplicate'> {
    const known = this.#entries.get(message.id);
    // No await between looking for the id and claiming it, or two deliveries could both find it free.
    const entry = known ?? this.#claim(message);
    await entry.written;
    entry.deliveries += 1;
    return known ? 'duplicate' : 'committed';
  }

  /** Notes that the work on a message is done. If that cannot be written, a restart begins the work again. */
  async finish(id: string): Promise<void> {
    this.#unfinished.delete(id);
    await this.#append({ done: id });
  }

  /** Committed messages whose work is not done, the oldest first. */
  unfinished(): Message[] {
    return [...this.#unfinished.values()];
  }

  /** Committed ids, and how often each was delivered since the start (one that was loaded from the file begins at 1). */
  list(): { id: string; deliveries: number }[] {
    const all = [...this.#entries].map(([id, { deliveries }]) => ({ id, deliveries }));
    return all.filter(({ deliveries }) => deliveries > 0);
  }

  async close(): Promise<void> {
    await this.#lastWrite;
    await this.#file.close();
  }

  #claim(message: Message): Entry {
    const written = this.#append(message).then(
      () => void this.#unfinished.set(message.id, message),
      (error: unknown) => {
        this.#entries.delete(message.id);
        throw error;
      },
    );
    const entry = { written, deliveries: 0 };
    this.#entries.set(message.id, entry);
    return entry;
  }

  /** Lines that come while a write is on its way share the next one: one flush for all, however many are waiting. */
  #append(line: Line): Promise<void> {
    if (!this.#batch) {
      const lines: Line[] = [];
      const written = this.#lastWrite.then(() => {
        this.#batch = undefined;
        return this.#write(lines);
      });
      this.#batch = { lines, written };
      this.#lastWrite = written.catch(() => undefined);
    }
    this.#batch.lines.push(line);
    return this.#batch.written;
  }

  async #write(lines: readonly Line[]): Promise<void> {
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    // What a failed write left behind goes first, or it would become the beginning of the next line. Should the process die
    // before that, whole lines of it count after the restart: they were answered 5xx, but their bodies are here, so the
    // work is done once and the retry is a duplicate.
    if (this.#torn) await this.#file.truncate(this.#sizeBytes);
    this.#torn = true;
    await this.#file.appendFile(bytes);
    await this.#file.datasync();
    this.#torn = false;
    this.#sizeBytes += bytes.length;
  }
}

function parseLines(path: string, text: string): Line[] {
  const lines = text.split('\n').slice(0, -1); // what follows the last line end is empty
  return lines.map((line, index) => {
    try {
      return parseLine(line);
    } catch (error) {
      // Going on without it could mean to do its work twice. A person has to look.
      throw new Error(`${path} is damaged in line ${index + 1}`, { cause: error });
    }
  });
}

function parseLine(text: string): Line {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null) {
    if ('done' in value && typeof value.done === 'string') return { done: value.done };
    if ('id' in value && typeof value.id === 'string' && 'body' in value && typeof value.body === 'string') {
      return { id: value.id, body: value.body };
    }
  }
  throw new Error('not a line of an inbox');
}

/** A new file is durable only when the directory that names it is. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
