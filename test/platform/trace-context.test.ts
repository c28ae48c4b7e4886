import { expect, test } from 'vitest';
import { headersOfTrace, traceContextIn } from '../../src/platform/trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test.for([
  [`00-${TRACE}-${SPAN}-01`, 1],
  [`00-${TRACE}-${SPAN}-00`, 0],
  // Flags and fields of later versions are ignored, and not passed on.
  [`00-${TRACE}-${SPAN}-ff`, 1],
  [`01-${TRACE}-${SPAN}-01-more`, 1],
] as const)('a valid traceparent is read and passed on: %s', ([traceparent, flags]) => {
  const trace = traceContextIn({ traceparent, tracestate: 'vendor=1,other=2' });
  expect(trace).toMatchObject({ traceId: TRACE, spanId: SPAN, state: 'vendor=1,other=2' });
  expect(trace && headersOfTrace(trace)).toEqual({
    traceparent: `00-${TRACE}-${SPAN}-0${flags}`,
    tracestate: 'vendor=1,other=2',
  });
});

test.for([
  undefined,
  '',
  7,
  TRACE,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
])('an invalid traceparent is ignored: %s', (traceparent) => {
  expect(traceContextIn({ traceparent, tracestate: 'vendor=1' })).toBeUndefined();
});

test.for([undefined, '', 'x'.repeat(513), 'a=\u0001', 7])(
  'an invalid tracestate is not passed on: %s',
  (tracestate) => {
    const trace = traceContextIn({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });
    expect(trace && headersOfTrace(trace)).toEqual({ traceparent: `00-${TRACE}-${SPAN}-01` });
  },
);
