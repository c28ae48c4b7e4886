import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { parseAccept } from 'hono/utils/accept';

const compressAsBrotli = promisify(brotliCompress);
const compressAsGzip = promisify(gzip);

/** Supported content codings, best first. */
export type Coding = 'br' | 'gzip';
const CODINGS: readonly Coding[] = ['br', 'gzip'];

/**
 * Minimum size in bytes of a response that is compressed. A shorter response fits into one network packet even uncompressed.
 */
const MIN_BYTES = 1_024;
/**
 * Maximum size of a response that is compressed, in bytes. Longer responses are sent uncompressed. Only the GraphiQL page and
 * lists of the longest messages come near this size.
 */
const MAX_BYTES = 32 * 1024 * 1024;
/**
 * Maximum size of a body that is compressed at the normal quality, in bytes. A longer body is compressed at a lower quality.
 * Compared with the normal quality, this takes a tenth of the time, and the result is a fifth longer.
 */
const LONG_BYTES = 1024 * 1024;
/**
 * Maximum number of responses that are compressed at a time. Compression runs in the thread pool that also hashes passwords. If
 * the limit is reached, responses are sent uncompressed, which costs bandwidth but no CPU time.
 */
const AT_ONCE = 8;

/** Matches content types that compress well, except event streams. */
export const COMPRESSIBLE =
  /^(text\/(?!event-stream)|application\/([\w.-]+\+)?(json|xml|javascript)\b|image\/svg\+xml)/i;

/**
 * The effort with which content is compressed. `each`: fast, for the body of a single response. `once`: slow, for content that
 * is compressed once and then sent in many responses.
 */
export type Effort = 'each' | 'once';

/**
 * Returns the best coding that the client accepts; undefined if there is none.
 *
 * @param accepted The Accept-Encoding header. A weight of 0 rejects a coding.
 */
export function codingOf(accepted: IncomingHttpHeaders['accept-encoding']): Coding | undefined {
  const named = new Map(parseAccept(accepted ?? '').map(({ type, q }) => [type.toLowerCase(), q]));
  return CODINGS.find((coding) => (named.get(coding) ?? named.get('*') ?? 0) > 0);
}

/** Compresses a complete body. The compression runs in the thread pool, so that it does not block the event loop. */
export function compress(bytes: Uint8Array, coding: Coding, effort: Effort): Promise<Buffer<ArrayBuffer>> {
  if (coding === 'gzip') return compressAsGzip(bytes, { level: effort === 'once' ? 9 : 5 });
  const isLong = bytes.length > LONG_BYTES;
  const quality = effort === 'once' ? (isLong ? 5 : 9) : isLong ? 1 : 4;
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return compressAsBrotli(bytes, { params });
}

let underWay = 0;

/**
 * Makes a response compress its body if the client accepts a supported coding. Only text of at least `MIN_BYTES` that is not
 * compressed yet is compressed. Event streams are not compressed, because their events would not be flushed.
 *
 * A response with `Cache-Control: no-transform` is not compressed either. A page sends this header if it contains a secret
 * beside text that other users chose.
 *
 * A response that may be compressed is buffered: nothing is sent before the whole body is available.
 */
export function compressAnswer({ method, headers }: IncomingMessage, outgoing: ServerResponse): void {
  const coding = codingOf(headers['accept-encoding']);
  if (coding !== undefined && method !== 'HEAD') new HeldAnswer(outgoing, coding).hold();
}

/** The status and the headers of a response. */
interface Head {
  readonly status: number;
  readonly fields: OutgoingHttpHeaders;
}

/** A response that is buffered until its body is complete. */
class HeldAnswer {
  readonly #outgoing: ServerResponse;
  readonly #coding: Coding;
  /** The methods of the response as they were before `hold` replaced them. */
  readonly #real: Pick<ServerResponse, 'writeHead' | 'flushHeaders' | 'write' | 'end'>;
  /** Status and headers of the response, if they are set and allow compression. Otherwise undefined. */
  #head: Head | undefined;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(outgoing: ServerResponse, coding: Coding) {
    const { writeHead, flushHeaders, write, end } = outgoing;
    this.#outgoing = outgoing;
    this.#coding = coding;
    this.#real = { writeHead, flushHeaders, write, end };
  }

  /**
   * Replaces the methods that write the response, so that its content is buffered. The original methods are restored when it is
   * clear that the response is sent uncompressed, or when its body is complete.
   */
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

  /**
   * Stores status and headers if they allow compression, otherwise stops buffering.
   *
   * @returns Whether the response stays buffered.
   */
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
    // The compressed body is equivalent but not byte-identical, so the entity tag becomes weak.
    if (typeof tag === 'string' && !tag.startsWith('W/')) outgoing.setHeader('ETag', `W/${tag}`);
    outgoing.appendHeader('Vary', 'Accept-Encoding');
    outgoing.setHeader('Content-Encoding', this.#coding);
    outgoing.setHeader('Content-Length', length);
    outgoing.writeHead(status);
  }
}

const NOTHING = new Uint8Array();

/**
 * Returns the headers among the arguments of `writeHead`. Undefined if the headers are an array, because an array can contain
 * the same header name twice.
 */
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
