import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressAsBrotli = promisify(brotliCompress);
const compressAsGzip = promisify(gzip);

/** The ways an answer can be compressed, the better first. */
export type Coding = 'br' | 'gzip';
const CODINGS: readonly Coding[] = ['br', 'gzip'];

/** Our choice: what is shorter fits into one packet as it is. */
const MIN_BYTES = 1_024;
/** Our choice: what is longer goes out as it is; nothing is, but GraphiQL and pages of the longest messages. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Our choice: beyond, it takes a tenth of the time for a fifth more bytes. */
const LONG_BYTES = 1024 * 1024;
/**
 * Our choice. It is done beside the event loop, on the threads that also hash passwords: answers that find so many before
 * them go out as they are, which costs the network more and this machine nothing.
 */
const AT_ONCE = 8;

/** Content types that get smaller by it. */
export const COMPRESSIBLE =
  /^(text\/(?!event-stream)|application\/([\w.-]+\+)?(json|xml|javascript)\b|image\/svg\+xml)/i;

/** How thoroughly to compress: what is made once for all may take its time. */
type Effort = 'each' | 'once';

/**
 * The best way that a client takes.
 *
 * @param accepted The Accept-Encoding header: a weight of 0 is a refusal.
 */
export function codingOf(accepted: IncomingHttpHeaders['accept-encoding']): Coding | undefined {
  if (accepted === undefined) return undefined;
  const named = new Map(
    accepted.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  return CODINGS.find((coding) => (named.get(coding) ?? named.get('*') ?? 0) > 0);
}

/** Compresses a whole answer, beside the event loop. */
export function compress(bytes: Uint8Array, coding: Coding, effort: Effort): Promise<Buffer<ArrayBuffer>> {
  if (coding === 'gzip') return compressAsGzip(bytes, { level: effort === 'once' ? 9 : 5 });
  const isLong = bytes.length > LONG_BYTES;
  const quality = effort === 'once' ? (isLong ? 5 : 9) : isLong ? 1 : 4;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return compressAsBrotli(bytes, { params });
}

let underWay = 0;

/**
 * Has an answer go out compressed, where the client takes that and it is worth it: what is text, is long enough, is not
 * compressed yet, and may be (`no-transform` says that it holds a secret beside what others chose, or is to stay for other
 * reasons). Streams of events are not: they would not be flushed.
 *
 * Nothing goes out before the whole answer is there.
 */
export function compressAnswer({ method, headers }: IncomingMessage, outgoing: ServerResponse): void {
  const coding = codingOf(headers['accept-encoding']);
  if (coding !== undefined && method !== 'HEAD') new HeldAnswer(outgoing, coding).hold();
}

/** What an answer begins with. */
interface Head {
  readonly status: number;
  readonly fields: OutgoingHttpHeaders;
}

/** An answer in the making, of which nothing goes out yet. */
class HeldAnswer {
  readonly #outgoing: ServerResponse;
  readonly #coding: Coding;
  /** How the answer is made that is not held. */
  readonly #real: Pick<ServerResponse, 'writeHead' | 'flushHeaders' | 'write' | 'end'>;
  /** Undefined until it is known, and may be compressed. */
  #head: Head | undefined;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(outgoing: ServerResponse, coding: Coding) {
    const { writeHead, flushHeaders, write, end } = outgoing;
    this.#outgoing = outgoing;
    this.#coding = coding;
    this.#real = { writeHead, flushHeaders, write, end };
  }

  /** Stands in for what an answer is made by, until it is known that it goes out as it is. */
  hold(): void {
    const outgoing = this.#outgoing;
    Object.assign(outgoing, {
      writeHead: (status: number, ...rest: readonly unknown[]) =>
        this.#takeHead(status, fieldsIn(rest)) ? outgoing : outgoing.writeHead(status, ...(rest as [])),
      flushHeaders: () => {
        if (this.#head !== undefined) return;
        this.#letGo();
        outgoing.flushHeaders();
      },
      write: (chunk: Uint8Array, ...rest: readonly unknown[]) => {
        if (this.#head === undefined) this.#letGo();
        return this.#head === undefined ? outgoing.write(chunk, ...(rest as [])) : this.#takePiece(chunk);
      },
      end: (chunk?: Uint8Array) => {
        const isHeld = this.#head !== undefined || this.#takeHead(outgoing.statusCode, {});
        return isHeld ? this.#finish(chunk) : outgoing.end(chunk);
      },
    });
  }

  #letGo(): void {
    Object.assign(this.#outgoing, this.#real);
  }

  /** @returns Whether the answer stays held: it may be compressed. */
  #takeHead(status: number, fields: OutgoingHttpHeaders | undefined): boolean {
    if (fields !== undefined && isCompressible(this.#outgoing, status, fields)) this.#head = { status, fields };
    else this.#letGo();
    return this.#head !== undefined;
  }

  #takePiece(chunk: unknown): true {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    if (bytes instanceof Uint8Array) {
      this.#pieces.push(bytes);
      this.#size += bytes.length;
    }
    if (this.#size > MAX_BYTES) this.#sendAsIs();
    return true;
  }

  #finish(chunk: unknown): ServerResponse {
    this.#takePiece(chunk);
    if (this.#size >= MIN_BYTES && this.#size <= MAX_BYTES && underWay < AT_ONCE) void this.#sendCompressed();
    else {
      this.#sendAsIs();
      this.#outgoing.end();
    }
    return this.#outgoing;
  }

  #sendAsIs(): void {
    this.#letGo();
    if (!this.#outgoing.headersSent && this.#head !== undefined) {
      this.#outgoing.writeHead(this.#head.status, this.#head.fields);
    }
    for (const bytes of this.#pieces.splice(0)) this.#outgoing.write(bytes);
  }

  async #sendCompressed(): Promise<void> {
    const [first = NOTHING, ...others] = this.#pieces;
    underWay++;
    const whole = others.length === 0 ? first : Buffer.concat(this.#pieces);
    const compressed = await compress(whole, this.#coding, 'each').catch(() => undefined);
    underWay--;
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) return;
    if (compressed === undefined) this.#sendAsIs();
    else this.#sendHead(compressed.length);
    outgoing.end(compressed);
  }

  #sendHead(length: number): void {
    this.#letGo();
    const outgoing = this.#outgoing;
    const { status, fields } = this.#head ?? { status: outgoing.statusCode, fields: {} };
    for (const [name, value] of Object.entries(fields)) {
      if (value === undefined) continue;
      if (/^vary$/i.test(name)) outgoing.appendHeader('Vary', String(value));
      else outgoing.setHeader(name, value);
    }
    const tag = outgoing.getHeader('etag');
    // It stands for the same, and is not the same bytes.
    if (typeof tag === 'string' && !tag.startsWith('W/')) outgoing.setHeader('ETag', `W/${tag}`);
    outgoing.appendHeader('Vary', 'Accept-Encoding');
    outgoing.setHeader('Content-Encoding', this.#coding);
    outgoing.setHeader('Content-Length', length);
    outgoing.writeHead(status);
  }
}

const NOTHING = new Uint8Array();

/** The headers among what `writeHead` is given; undefined where they are a list, which may hold one twice. */
function fieldsIn(rest: readonly unknown[]): OutgoingHttpHeaders | undefined {
  const fields = rest.find((part) => typeof part === 'object' && part !== null) ?? {};
  return Array.isArray(fields) ? undefined : (fields as OutgoingHttpHeaders);
}

function isCompressible(outgoing: ServerResponse, status: number, fields: OutgoingHttpHeaders): boolean {
  const given = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  const header = (name: string) => String(given.get(name) ?? outgoing.getHeader(name) ?? '');
  if (status < 200 || status === 204 || status === 206 || status === 304) return false;
  if (header('content-encoding') !== '' || /\bno-transform\b/.test(header('cache-control'))) return false;
  return COMPRESSIBLE.test(header('content-type'));
}
