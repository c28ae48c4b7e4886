/** Form field values that are not JSON. */
export const NOT_JSON = ['nonsense', '', '{', '[1,', "{'a':1}", '"\0"', 'undefined', '01', '1 2', '['.repeat(10_000)];

/** Path segments that cannot be the id of an object. */
export const NO_IDS = [
  ...['0', '-1', '1.5', '1e3', 'x', 'NaN', '*', '__proto__', 'constructor', '1;DROP%20TABLE%20channel'],
  ...['2147483648', '9007199254740993', '9'.repeat(400)],
  ...['%', '%zz', '%00', '1%00', '1%2F2', '%ED%A0%80', '%F0%9F%92%A9', '%D9%A3'],
];

/** A text that is longer than any text that the interface accepts. */
export const LONG = 'x'.repeat(10_001);
/** A text that is larger than the maximum size of a request. */
export const HUGE = 'x'.repeat(1_050_000);

const WRONG = [null, true, 'nonsense', '\0', 7, -1, 7.5, 2 ** 31, 2 ** 53, [], [[[]]], {}];
/** Keys that are set with `Object.fromEntries`. In an object literal, `__proto__` would set the prototype instead of a key. */
const KEYS = ['__proto__', 'constructor', 'toString', 'unknown'];
const withKey = (value: object, key: string, inner: unknown) =>
  Object.fromEntries([...Object.entries(value), [key, inner]]);

/**
 * Returns JSON texts like that of `good`, each with one fault: a wrong type, a missing or additional key, a number out of
 * range. Depending on the type of a parameter, some of the texts may be valid for it.
 */
export function hostileJson(good: unknown): string[] {
  return [...new Set([...variants(good)].map((value) => JSON.stringify(value)))];
}

function* variants(good: unknown): Generator<unknown> {
  yield* WRONG;
  yield Object.fromEntries([['__proto__', { admin: true }]]);
  if (Array.isArray(good)) {
    for (const [i, element] of good.entries()) {
      for (const wrong of variants(element)) yield good.with(i, wrong);
    }
  } else if (typeof good === 'object' && good !== null) {
    for (const [name, inner] of Object.entries(good)) {
      const { [name]: _, ...rest } = good as Record<string, unknown>;
      yield rest;
      for (const wrong of variants(inner)) yield { ...good, [name]: wrong };
    }
    for (const key of KEYS) yield withKey(good, key, { admin: true });
  }
}
