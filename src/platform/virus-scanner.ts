import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { ScannerAddress } from './config.ts';
import { RequestTimeoutError } from './errors.ts';
import { retry } from './retry.ts';

/** Time in which the scanner must accept the connection and the next part of a file, in milliseconds. */
const PATIENCE_MS = 10_000;
/** Time in which the scanner must reply after it has received the whole file, in milliseconds. Archives take long. */
const VERDICT_MS = 60_000;
/** Maximum length of a part that is sent, in bytes. */
const PART_BYTES = 256 * 1024;
/** Maximum length of a reply in characters. Longer replies are not replies of clamd. */
const MAX_REPLY_LENGTH = 1_000;

/** Thrown if the virus scanner cannot be reached, or gives no verdict. The file was not scanned. */
export class ScannerUnavailableError extends RequestTimeoutError {
  override readonly data = { 'retry-after': 5 };

  constructor(cause?: unknown) {
    super('The virus scanner is unavailable; nothing was changed, please try again');
    this.cause = cause;
  }
}

/** The result of a scan. `tooLarge`: the file is larger than the scanner's limit (`StreamMaxLength`), and was not scanned. */
export type Verdict = 'clean' | 'tooLarge' | { readonly signature: string };

/** Thrown if clamd closes a connection without a reply. */
class ClosedError extends Error {
  override name = 'ClosedError';
  /** Whether the whole command was sent before. */
  readonly isSent: boolean;

  constructor(isSent: boolean) {
    super('the connection was closed without a reply');
    this.isSent = isSent;
  }
}

/** Beginning of the reply to a file that is larger than `StreamMaxLength`. */
const SIZE_LIMIT = 'INSTREAM size limit exceeded';
/**
 * Maximum number of scans of a file. If a file is too large, clamd replies and closes the connection while parts are being
 * sent, and the reply can be lost. If the reply is lost in every scan, but clamd responds to a ping, the file counts as too
 * large.
 */
const ATTEMPTS = 4;

/**
 * Scans a file with clamd, by the command INSTREAM: each part is sent with its length before it, and an empty part ends the file.
 * Holds one part in memory.
 *
 * @see https://docs.clamav.net/manual/Usage/Scanning.html#clamd
 * @param open Returns the content. Called again if clamd closes the connection without a reply.
 * @throws ScannerUnavailableError if clamd gives no verdict.
 */
export async function scan(address: ScannerAddress, open: () => AsyncIterable<Uint8Array>): Promise<Verdict> {
  const reply = await answered(() =>
    retry(
      () => scanOnce(address, open()),
      (error, attempts) => (error instanceof ClosedError && attempts < ATTEMPTS ? 0 : undefined),
    ),
  ).catch(async (error: ScannerUnavailableError) => {
    if (!(error.cause instanceof ClosedError) || error.cause.isSent) throw error;
    await pingScanner(address);
    return SIZE_LIMIT;
  });
  const signature = /^stream: (.+) FOUND$/.exec(reply)?.[1];
  if (signature !== undefined) return { signature };
  if (reply === 'stream: OK') return 'clean';
  if (reply.startsWith(SIZE_LIMIT)) return 'tooLarge';
  throw new ScannerUnavailableError(new Error(`unexpected reply: ${reply}`));
}

const scanOnce = (address: ScannerAddress, content: AsyncIterable<Uint8Array>): Promise<string> =>
  converse(address, VERDICT_MS, async (send) => {
    await send(Buffer.from('zINSTREAM\0'));
    for await (const bytes of content) {
      for (let at = 0; at < bytes.length; at += PART_BYTES) await send(framed(bytes.subarray(at, at + PART_BYTES)));
    }
    await send(framed(Buffer.alloc(0)));
  });

/** Checks that clamd replies. @throws ScannerUnavailableError if it does not. */
export async function pingScanner(address: ScannerAddress): Promise<void> {
  const reply = await answered(() => converse(address, PATIENCE_MS, (send) => send(Buffer.from('zPING\0'))));
  if (reply !== 'PONG') throw new ScannerUnavailableError(new Error(`unexpected reply: ${reply}`));
}

async function answered(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    throw new ScannerUnavailableError(error);
  }
}

function framed(part: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return Buffer.concat([length, part]);
}

/**
 * Sends a command over a new connection, and returns the reply without the zero byte at its end. A reply that arrives before the
 * end of the command is returned, too.
 *
 * @param patienceMs Time in which the reply must arrive after the whole command was sent, in milliseconds.
 * @throws ClosedError if the connection is closed without a reply, after it was made.
 */
async function converse(
  address: ScannerAddress,
  patienceMs: number,
  command: (send: (bytes: Buffer) => Promise<void>) => Promise<void>,
): Promise<string> {
  const socket = connect(address);
  const closed = Promise.withResolvers<void>();
  let text = '';
  let isMade = false;
  let isSent = false;
  let failure: Error | undefined;
  socket.setEncoding('utf8');
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer in time')));
  socket.once('connect', () => {
    isMade = true;
  });
  socket.on('data', (part: string) => {
    text += part;
    if (text.includes('\0') || text.length > MAX_REPLY_LENGTH) socket.destroy();
  });
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', () => closed.resolve());
  const sending = command((bytes) => sent(socket, bytes)).then(() => {
    isSent = true;
    socket.setTimeout(patienceMs);
  });
  // A failure to read the content itself ends the conversation, too.
  const unsent = await Promise.race([closed.promise, sending.then(() => closed.promise)]).catch(
    (error: Error) => error,
  );
  socket.destroy();
  await closed.promise;
  await sending.catch(() => {});
  const end = text.indexOf('\0');
  if (end >= 0) return text.slice(0, end);
  const error = failure ?? unsent;
  const isClosed = isMade && (error === undefined || CLOSED.has(String(Reflect.get(error, 'code'))));
  throw isClosed ? new ClosedError(isSent) : error;
}

/** Codes of errors of a connection that the other side has closed. */
const CLOSED = new Set(['EPIPE', 'ECONNRESET', 'ECANCELED', 'ERR_STREAM_DESTROYED']);

/**
 * Sends bytes, and resolves when they were passed to the operating system. Data that has arrived is received first: if a write
 * fails because the other side has closed the connection, Node.js discards its last data.
 */
async function sent(socket: Socket, bytes: Buffer): Promise<void> {
  // The event loop receives data between the two.
  for (let turn = 0; turn < 2; turn++) await setImmediate();
  await new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}
