/** The trace and the parent span of a request, as the client sent them. @see https://www.w3.org/TR/trace-context/ */
export interface TraceContext {
  /** Id of the trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the client's span, of which the request is a part: 16 hexadecimal digits. */
  readonly spanId: string;
  /** Flags. Bit 0: the client records the trace. */
  readonly flags: number;
  /** Value of `tracestate`: data of tracing systems, passed on unchanged. Undefined if it was not sent, or is invalid. */
  readonly state: string | undefined;
}

/**
 * Matches a value of `traceparent`: version, trace id, span id and flags. Later versions can append further fields. Capital
 * letters are invalid.
 */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Maximum length of `tracestate` in characters. Longer values are not passed on. */
const MAX_STATE_LENGTH = 512;

/**
 * Returns the trace context in the headers of a request, or in the `extensions` of an operation on a socket. Undefined if there
 * is none, or it is invalid.
 */
export function traceContextIn({
  traceparent,
  tracestate,
}: Readonly<Record<string, unknown>>): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const isState =
    typeof tracestate === 'string' && tracestate.length <= MAX_STATE_LENGTH && /^[ -~]+$/.test(tracestate);
  return { traceId, spanId, flags: Number.parseInt(flags, 16), state: isState ? tracestate : undefined };
}

/** Returns the headers that pass a trace context on to another server, in version 00. */
export const headersOfTrace = ({ traceId, spanId, flags, state }: TraceContext): Record<string, string> => ({
  // Version 00 defines the lowest bit only.
  traceparent: `00-${traceId}-${spanId}-0${flags & 1}`,
  ...(state !== undefined && { tracestate: state }),
});
