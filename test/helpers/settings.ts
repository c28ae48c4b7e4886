import type { Setting } from '../../src/platform/setting.ts';

/** Returns a valid value of a setting that differs from its initial value. Undefined if none is found. */
export function anotherValue({ initial, type, choices, isKnown = () => true }: Setting<unknown>): unknown {
  const tried = [
    ...Object.values(choices?.values ?? {}).map(([value]) => value),
    !initial,
    'fr',
    20,
    1,
    2,
    3,
    150,
    'x',
    'Asia/Kolkata',
    '22:00-07:00',
  ];
  return tried.find(
    (value) =>
      value !== initial &&
      typeof value === typeof (initial ?? true) &&
      type.safeParse(value).success &&
      (typeof value !== 'string' || isKnown(value)),
  );
}
