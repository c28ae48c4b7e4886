import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';
import { between, seeded } from '../faults/random.ts';

/** Values of existing objects, from which random queries take their arguments. */
export interface Known {
  /** Global ids by the type of the object. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
  /** Cursors by the type of the connection. */
  readonly cursors: ReadonlyMap<string, readonly string[]>;
  /** Texts by the name of the argument or input field that they suit. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
}

/** A random query, with two sets of values of its variables. The second set leads to other arguments and conditions. */
export interface RandomQuery {
  readonly query: string;
  readonly variables: readonly [first: Values, second: Values];
}

type Values = Readonly<Record<string, unknown>>;

interface Source extends Known {
  readonly schema: GraphQLSchema;
}

/** Maximum depth of a selection. Deeper documents mostly exceed the cost limit. */
const MAX_DEPTH = 6;
/** Response names that are also names of properties of every object. Each occurs at most once in a document. */
const SPECIAL_KEYS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'length'];
const WORDS = [
  ...['a', 'e', 'ö', '%', '', 'dock', 'build', 'party', 'launch', 'crew'],
  ...['"old dock"', 'no such word', 'hello'],
];
const DATES = ['2100-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'];

/**
 * Returns a random valid query. It has aliases, repeated fields, named and inline fragments, conditions, variables with and
 * without defaults, nested lists, and arguments of every kind. Some arguments are out of range, or name objects that do not exist
 * or are hidden, so that their fields fail. The query depends only on the seed and the source.
 */
export const randomQuery = (source: Source, seed: number): RandomQuery => new Maker(source, seed).make();

/** The declared type of a variable, and its default value as text. */
interface Variable {
  readonly type: string;
  readonly initial: string | undefined;
}

class Maker {
  readonly #source: Source;
  readonly #random: () => number;
  readonly #variables = new Map<string, Variable>();
  readonly #values: readonly [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  readonly #conditions: string[] = [];
  readonly #fragments: { readonly name: string; readonly type: string; readonly text: string }[] = [];
  readonly #specialKeys = [...SPECIAL_KEYS];
  #names = 0;

  constructor(source: Source, seed: number) {
    this.#source = source;
    this.#random = seeded(seed);
  }

  make(): RandomQuery {
    const root = this.#source.schema.getQueryType() as GraphQLObjectType;
    const fields = Object.values(root.getFields());
    const texts = Array.from({ length: this.#int(1, 4) }, () => this.#field(root, this.#pick(fields), 0, true));
    if (this.#chance(0.1)) texts.push('__typename');
    if (this.#chance(0.03)) texts.push('__type(name: "Message") { kind name fields { name } }');
    if (this.#chance(0.15)) texts.splice(0, 1, `...${this.#fragment(root, [texts[0] as string])}`);
    const definitions = [...this.#variables].map(
      ([name, { type, initial }]) => `$${name}: ${type}${initial === undefined ? '' : ` = ${initial}`}`,
    );
    const head = definitions.length === 0 ? 'query' : `query Random(${definitions.join(', ')})`;
    const fragments = this.#fragments.map(({ name, type, text }) => `fragment ${name} on ${type} { ${text} }`);
    return { query: [`${head} { ${texts.join(' ')} }`, ...fragments].join('\n'), variables: this.#values };
  }

  /** Declares a variable. @param draw Returns a value to send, or undefined to omit the variable. */
  #declare(name: string, variable: Variable, draw: () => unknown): void {
    this.#variables.set(name, variable);
    for (const values of this.#values) {
      const value = draw();
      if (value !== undefined) values[name] = value;
    }
  }

  #int(low: number, high: number): number {
    return between(this.#random, low, high);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new RangeError('Nothing to choose from');
    return choices[this.#int(0, choices.length)] as T;
  }

  #shuffled<T>(values: readonly T[]): readonly T[] {
    const keyed = values.map((value) => ({ value, key: this.#random() }));
    return keyed.sort((a, b) => a.key - b.key).map(({ value }) => value);
  }

  #name(prefix: string): string {
    return `${prefix}${this.#names++}`;
  }

  /** Returns a directive, or an empty text. Some conditions are variables, and a few of them are null. */
  #condition(probability = 0.08): string {
    if (!this.#chance(probability)) return '';
    const directive = this.#pick(['skip', 'include', 'include']);
    if (this.#chance(0.4)) return ` @${directive}(if: ${this.#chance(0.5)})`;
    const known = this.#conditions.length === 0 || this.#chance(0.4) ? undefined : this.#pick(this.#conditions);
    const both = this.#chance(0.1) ? ` @${directive === 'skip' ? 'include(if: true)' : 'skip(if: false)'}` : '';
    return `${both} @${directive}(if: $${known ?? this.#newCondition()})`;
  }

  /** Declares a variable for directives, and returns its name. */
  #newCondition(): string {
    const name = this.#name('b');
    const initial = this.#chance(0.4) ? String(this.#chance(0.5)) : undefined;
    this.#declare(name, { type: initial === undefined ? 'Boolean!' : 'Boolean', initial }, () => {
      if (initial === undefined || this.#chance(0.5)) return this.#chance(0.5);
      return this.#chance(0.1) ? null : undefined;
    });
    this.#conditions.push(name);
    return name;
  }

  /**
   * Returns the text of a field with arguments, conditions and a selection.
   *
   * @param isAliased Whether the field must have a unique alias, because it can occur beside fields of other types.
   */
  #field(parent: GraphQLObjectType, field: GraphQLField<unknown, unknown>, depth: number, isAliased = false): string {
    const args = this.#arguments(parent, field);
    const key = isAliased || args !== '' || this.#chance(0.15) ? this.#alias() : '';
    const head = `${key}${field.name}${args}`;
    const inner = () => this.#selection(field.type, depth + 1);
    if (isLeafType(getNamedType(field.type))) return `${head}${this.#condition(0.05)}`;
    const once = `${head}${this.#condition()} ${inner()}`;
    // Selects the field a second time under the same name. The two selections are merged.
    return this.#chance(0.08) ? `${once} ${head} ${inner()}` : once;
  }

  #alias(): string {
    if (this.#specialKeys.length > 0 && this.#chance(0.02)) {
      const key = this.#pick(this.#specialKeys);
      this.#specialKeys.splice(this.#specialKeys.indexOf(key), 1);
      return `${key}: `;
    }
    return `${this.#name('x')}: `;
  }

  #selection(output: GraphQLOutputType, depth: number): string {
    const type = getNamedType(output);
    if (isAbstractType(type)) {
      const possible = this.#source.schema.getPossibleTypes(type);
      const some = Array.from({ length: this.#int(1, 5) }, () => this.#pick(possible));
      const texts = [...new Set(some)].map(
        (one) => `... on ${one.name}${this.#condition()} { ${this.#fields(one, depth, true).join(' ')} }`,
      );
      const hasIds = possible.some((one) => one.getInterfaces().some(({ name }) => name === 'Node'));
      const node = hasIds && this.#chance(0.5) ? `... on Node${this.#condition()} { id }` : '';
      return `{ ${this.#chance(0.7) ? '__typename' : ''} ${node} ${texts.join(' ')} }`;
    }
    if (!isObjectType(type)) throw new TypeError(`${String(output)} has no selection`);
    return `{ ${this.#within(type, depth)} }`;
  }

  /** Returns the content of a selection of an object type. Parts of it are in named and inline fragments. */
  #within(type: GraphQLObjectType, depth: number): string {
    const texts = [...this.#fields(type, depth)];
    const known = this.#fragments.filter((fragment) => fragment.type === type.name);
    if (known.length > 0 && this.#chance(0.4)) {
      const spread = `...${this.#pick(known).name}${this.#condition()}`;
      texts.splice(this.#int(0, texts.length + 1), 0, spread);
    }
    if (this.#chance(0.1))
      texts.push(`...${this.#fragment(type, texts.splice(0, this.#int(1, 4)))}${this.#condition()}`);
    if (this.#chance(0.12)) {
      const on = this.#pick(['', ` on ${type.name}`, ...type.getInterfaces().map(({ name }) => ` on ${name}`)]);
      const inner = on.endsWith(type.name) || on === '' ? texts.splice(0, 2) : ['__typename'];
      const nested = on !== '' && this.#chance(0.3) ? ` ... on ${type.name} { __typename }` : '';
      texts.splice(this.#int(0, texts.length + 1), 0, `...${on}${this.#condition()} { ${inner.join(' ')}${nested} }`);
    }
    return texts.join(' ');
  }

  #fragment(type: GraphQLObjectType, texts: readonly string[]): string {
    const name = this.#name('F');
    this.#fragments.push({ name, type: type.name, text: texts.join(' ') });
    return name;
  }

  #fields(type: GraphQLObjectType, depth: number, isAliased = false): readonly string[] {
    const all = Object.values(type.getFields());
    const leaves = all.filter((field) => isLeafType(getNamedType(field.type)));
    const others = all.filter((field) => !isLeafType(getNamedType(field.type)));
    const isList = type.name.endsWith('Connection') || type.name.endsWith('Edge');
    const chosen = [
      ...this.#shuffled([
        ...this.#shuffled(leaves).slice(0, this.#int(1, 5)),
        ...(depth >= MAX_DEPTH ? [] : this.#shuffled(others).slice(0, isList ? 1 : this.#int(0, 3))),
      ]),
    ];
    // Repeated fields are executed once. They keep the position of the first.
    if (chosen.length > 0 && this.#chance(0.1)) chosen.push(this.#pick(chosen));
    const texts = chosen.map((field) => this.#field(type, field, depth, isAliased));
    if (texts.length === 0 || this.#chance(0.12)) texts.push('__typename');
    return texts;
  }

  #arguments(parent: GraphQLObjectType, field: GraphQLField<unknown, unknown>): string {
    const given = field.args.filter((arg) => isRequiredArgument(arg) || this.#chance(this.#shareOf(arg.name)));
    const names = given.map(({ name }) => name);
    // A page is requested either forwards or backwards. A few requests for both are refused.
    const without = this.#chance(0.03) ? [] : this.#chance(0.5) ? ['last', 'before'] : ['first', 'after'];
    const kept = given.filter(({ name }) => !without.includes(name));
    if (kept.length === 0 && names.includes('first')) kept.push(given.find(({ name }) => name === 'first') as never);
    const place = { parent: parent.name, connection: getNamedType(field.type).name };
    const texts = kept.map((arg) => `${arg.name}: ${this.#given(arg, place)}`);
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  }

  #shareOf(name: string): number {
    if (name === 'first' || name === 'last') return 0.95;
    return name === 'after' || name === 'before' ? 0.25 : 0.35;
  }

  /** Returns the text of an argument: a literal, a literal that contains variables, or a variable. */
  #given(arg: GraphQLArgument | GraphQLInputField, place: ArgumentPosition): string {
    if (!this.#chance(0.4)) return this.#literal(arg, place, 0);
    const hasDefault = arg.defaultValue !== undefined;
    return this.#variable(arg, place, { isNullable: !isNonNullType(arg.type) || hasDefault });
  }

  /**
   * Declares a variable for a position of the type of `input`, and returns the reference to it. If the variable has a default,
   * its type is nullable, so a null that is sent makes the field fail if the position does not accept null.
   *
   * @param isNullable Whether the position accepts a variable of a nullable type without a default.
   */
  #variable(input: Input, place: ArgumentPosition, { isNullable }: { readonly isNullable: boolean }): string {
    const name = this.#name('v');
    const nullable = getNullableType(input.type);
    const value = () => this.#present(input, place, 0);
    const type = String(nullable);
    if (this.#chance(0.3)) {
      this.#declare(name, { type, initial: written(value(), nullable) }, () => {
        if (this.#chance(0.5)) return value();
        return this.#chance(0.2) ? null : undefined;
      });
    } else if (isNullable && this.#chance(0.6)) {
      this.#declare(name, { type, initial: undefined }, () => {
        if (this.#chance(0.15)) return undefined;
        return this.#chance(0.1) ? null : value();
      });
    } else {
      // Values of a wrong type make the whole request fail.
      const draw = () => (this.#chance(0.004) ? { wrong: true } : value());
      this.#declare(name, { type: `${type}!`, initial: undefined }, draw);
    }
    return `$${name}`;
  }

  #literal(input: Input, place: ArgumentPosition, depth: number): string {
    const { type } = input;
    const nullable = getNullableType(type);
    if (!isNonNullType(type) && this.#chance(0.05)) return 'null';
    if (isListType(nullable)) {
      const item = { ...input, type: nullable.ofType };
      return `[${Array.from({ length: this.#int(0, 4) }, () => this.#part(item, place, depth)).join(', ')}]`;
    }
    if (!isInputObjectType(nullable)) return written(this.#present(input, place, depth), nullable);
    const texts = this.#inputFields(nullable, depth).map((field) => {
      const within = { ...place, parent: nullable.name };
      if (!nullable.isOneOf) return `${field.name}: ${this.#part(field, within, depth + 1)}`;
      // Fields of a `@oneOf` input accept no null.
      const isVariable = this.#chance(0.3);
      return `${field.name}: ${isVariable ? this.#required(field, within) : written(this.#present(field, within, depth + 1), field.type)}`;
    });
    return `{ ${texts.join(', ')} }`;
  }

  /** Returns the text of a value inside a list or an input object. */
  #part(input: Input, place: ArgumentPosition, depth: number): string {
    if (!this.#chance(0.25)) return this.#literal(input, place, depth);
    return isNonNullType(input.type)
      ? this.#required(input, place)
      : this.#variable(input, place, { isNullable: true });
  }

  /** Declares a variable that accepts no null. */
  #required(input: Input, place: ArgumentPosition): string {
    const name = this.#name('v');
    const type = `${getNullableType(input.type)}!`;
    this.#declare(name, { type, initial: undefined }, () => this.#present(input, place, 0));
    return `$${name}`;
  }

  #inputFields(type: GraphQLInputObjectType, depth: number): readonly GraphQLInputField[] {
    const fields = Object.values(type.getFields());
    if (type.isOneOf) return [this.#pick(fields)];
    const share = depth > 2 ? 0.15 : Math.min(0.6, 2 / fields.length);
    return fields.filter((field) => isRequiredInputField(field) || this.#chance(share));
  }

  /** Returns a JSON value of an input type. It is null in a few of the positions that accept null. */
  #value(input: Input, place: ArgumentPosition, depth: number): unknown {
    if (!isNonNullType(input.type) && this.#chance(0.04)) return null;
    return this.#present(input, place, depth);
  }

  /** Returns a JSON value of an input type other than null. */
  #present({ type, name }: Input, place: ArgumentPosition, depth: number): unknown {
    const nullable = getNullableType(type);
    if (isListType(nullable)) {
      const item = { name, type: nullable.ofType };
      return Array.from({ length: this.#int(0, 4) }, () => this.#value(item, place, depth + 1));
    }
    if (isEnumType(nullable)) return this.#pick(nullable.getValues()).name;
    if (isInputObjectType(nullable)) {
      const within = { ...place, parent: nullable.name };
      const entries = this.#inputFields(nullable, depth).map((field) => [
        field.name,
        nullable.isOneOf ? this.#present(field, within, depth + 1) : this.#value(field, within, depth + 1),
      ]);
      return Object.fromEntries(entries);
    }
    return this.#scalar(name, getNamedType(nullable).name, place);
  }

  #scalar(name: string, type: string, place: ArgumentPosition): unknown {
    switch (type) {
      case 'Int':
        return this.#chance(0.04) ? this.#pick([-1, 0, 101, 1001, 2_147_483_647]) : this.#int(1, 5);
      case 'LongId':
        return this.#pick([-1, 0, 1, 5, 50, 2 ** 40]);
      case 'Boolean':
        return this.#chance(0.5);
      case 'DateTime':
        return this.#pick(DATES);
      case 'ID':
        return this.#id(name, place);
      default:
        return this.#text(name, place);
    }
  }

  /** Returns a global id: mostly of an existing object of the right type, otherwise of another type, missing or malformed. */
  #id(name: string, { parent }: ArgumentPosition): string {
    const type = typeOfId(name, parent);
    const { ids } = this.#source;
    const fitting = (type === undefined ? undefined : ids.get(type)) ?? [];
    const kind = this.#random();
    if (kind < 0.8 && fitting.length > 0) return this.#pick(fitting);
    if (kind < 0.9) return this.#pick(ids.get(this.#pick([...ids.keys()])) ?? []);
    if (kind < 0.95) return btoa(`${type ?? 'User'}:${this.#pick(['999999', '0', '-1', 'x', '2147483648'])}`);
    return this.#pick(['', 'no id', '7', btoa('NoType:1')]);
  }

  #text(name: string, { parent, connection }: ArgumentPosition): string {
    const { cursors, texts } = this.#source;
    if (name === 'after' || name === 'before') {
      const own = cursors.get(connection) ?? [];
      if (own.length > 0 && this.#chance(0.85)) return this.#pick(own);
      return this.#chance(0.5) ? this.#pick([...cursors.values()].flat()) : 'no cursor';
    }
    const fitting = texts[`${parent}.${name}`] ?? texts[name];
    return fitting !== undefined && this.#chance(0.8) ? this.#pick(fitting) : this.#pick(WORDS);
  }
}

type Input = Pick<GraphQLInputField, 'name' | 'type'>;

/** The position of an argument: the type that has its field, and the type of the field. */
interface ArgumentPosition {
  readonly parent: string;
  readonly connection: string;
}

/** Types of the objects that an id names, by a pattern of "Parent.argument". The first match applies. */
const TYPES_OF_IDS: readonly (readonly [RegExp, string])[] = [
  [/^ChannelRef\.|\.channelIds?$/, 'Channel'],
  [/^TopicRef\./, 'Topic'],
  [/^UserRef\.|\.(user|sender|bot|mentionsUser)Id$|\.direct/, 'User'],
  [/\.messageId$|\.with$/, 'Message'],
  [/\.userGroupId$/, 'UserGroup'],
  [/\.folderId$/, 'ChannelFolder'],
];

const typeOfId = (name: string, parent: string): string | undefined =>
  TYPES_OF_IDS.find(([pattern]) => pattern.test(`${parent}.${name}`))?.[1];

/** Returns a JSON value as a literal of the GraphQL language. */
function written(value: unknown, type: GraphQLInputType): string {
  const nullable = getNullableType(type);
  if (value === null) return 'null';
  if (isListType(nullable) && Array.isArray(value)) {
    return `[${value.map((item) => written(item, nullable.ofType)).join(', ')}]`;
  }
  if (isInputObjectType(nullable)) {
    const fields = nullable.getFields();
    const texts = Object.entries(value as object).map(
      ([name, inner]) => `${name}: ${written(inner, (fields[name] as GraphQLInputField).type)}`,
    );
    return `{ ${texts.join(', ')} }`;
  }
  return isEnumType(nullable) ? String(value) : JSON.stringify(value);
}
