import type { FieldPlan, ObjectPlan, Shape } from './compile.ts';

/** One step of the way to an object in an answer. */
export interface Step {
  /** The object or list that holds what comes next. */
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  /** Whether null may stand there instead. */
  readonly isNullable: boolean;
}

/** How an object is come to from the one around it. */
interface Way {
  readonly from: object;
  readonly steps: readonly Step[];
}

/**
 * The ways to the objects of an answer: looked for when something went wrong, so that nothing is kept for it when nothing
 * does, and all at once, so that a thousand errors of one field take one look.
 */
export class Ways {
  readonly #plan: ObjectPlan;
  readonly #data: object;
  readonly #known = new Map<object, Way>();
  #isComplete = false;

  constructor(plan: ObjectPlan, data: object) {
    this.#plan = plan;
    this.#data = data;
  }

  /** Says that there are objects which were not there before. */
  extended(): void {
    this.#isComplete = false;
  }

  /** @returns Undefined for what is not in the answer any more, because something around it became null. */
  to(wanted: object): Step[] | undefined {
    const steps: Step[] = [];
    for (let at = wanted; at !== this.#data; ) {
      const way = this.#wayTo(at);
      if (way === undefined || !leadsTo(way.steps, at)) return undefined;
      steps.unshift(...way.steps);
      at = way.from;
    }
    return steps;
  }

  #wayTo(wanted: object): Way | undefined {
    const known = this.#known.get(wanted);
    if (known !== undefined || this.#isComplete) return known;
    this.#look(this.#plan, this.#data);
    this.#isComplete = true;
    return this.#known.get(wanted);
  }

  #look(plan: ObjectPlan, from: object): void {
    const holder = from as Step['holder'];
    for (const field of plan.fields)
      this.#lookInto(field, field.shape, { holder, key: field.key }, { from, steps: [] });
  }

  #lookInto(field: FieldPlan, shape: Shape, { holder, key }: Pick<Step, 'holder' | 'key'>, { from, steps }: Way): void {
    const value = holder[key];
    if (typeof value !== 'object' || value === null || field.below === undefined) return;
    const way = { from, steps: [...steps, { holder, key, isNullable: shape.isNullable }] };
    if (shape.kind !== 'list') {
      this.#known.set(value, way);
      this.#look(field.below, value);
      return;
    }
    const list = value as unknown[] & Step['holder'];
    for (let i = 0; i < list.length; i++) this.#lookInto(field, shape.item, { holder: list, key: i }, way);
  }
}

/** Whether the steps lead where they led before. */
const leadsTo = (steps: readonly Step[], end: object): boolean =>
  steps.every(({ holder, key }, i) => holder[key] === (steps[i + 1]?.holder ?? end));
