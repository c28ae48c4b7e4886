import type { FieldPlan, ObjectPlan, Shape } from './compile.ts';

/** One step of the way to an object in an answer. */
export interface Step {
  /** The object or list that holds what comes next. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Whether null may stand there instead. */
  readonly isNullable: boolean;
}

/**
 * The way to an object in an answer: looked for when something went wrong, so that nothing is kept for it when nothing does.
 *
 * @returns Undefined for what is not in the answer any more, because something around it became null.
 */
export function stepsTo(plan: ObjectPlan, data: object, wanted: object): Step[] | undefined {
  if (data === wanted) return [];
  const holder = data as Step['holder'];
  for (const field of plan.fields) {
    const found = field.below && stepsFrom(field, field.shape, { holder, key: field.key }, wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

function stepsFrom(
  field: FieldPlan,
  shape: Shape,
  { holder, key }: Pick<Step, 'holder' | 'key'>,
  wanted: object,
): Step[] | undefined {
  const value = holder[key];
  if (typeof value !== 'object' || value === null || field.below === undefined) return undefined;
  const step = { holder, key, isNullable: shape.isNullable };
  if (shape.kind !== 'list') {
    const rest = stepsTo(field.below, value, wanted);
    return rest && [step, ...rest];
  }
  const list = value as unknown[] & Step['holder'];
  for (let i = 0; i < list.length; i++) {
    const rest = stepsFrom(field, shape.item, { holder: list, key: i }, wanted);
    if (rest !== undefined) return [step, ...rest];
  }
  return undefined;
}
