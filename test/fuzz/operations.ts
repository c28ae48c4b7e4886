import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
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
} from 'graphql';
import { withGlobalIds } from '../helpers/global-ids.ts';
import { GRAPHQL_CALLS, nodeIds, REFUSALS } from '../helpers/graphql-calls.ts';
import { holdsFile } from '../helpers/multipart.ts';
import type { Dice } from './dice.ts';
import type { Cast } from './stage.ts';
import { namedThing } from './values.ts';

/** A GraphQL operation, ready to be sent. */
export interface Operation {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Names of the root fields that the operation selects. */
  readonly fields: readonly string[];
  /** Whether a victim must send the operation. Victims are the accounts that inputs are permitted to end. */
  readonly byVictim: boolean;
}

/** Root fields that can deactivate the account of the sender or change its API key. */
const ENDS_SENDER = new Set(['deactivateOwnAccount', 'regenerateApiKey']);
/** Root fields that can deactivate the account named in their arguments, or change its credentials. */
const ENDS_NAMED = new Set(['deactivateUser', 'updateUser', 'deactivateBot', 'updateBot', 'regenerateApiKey']);
/** Root fields that hash passwords. The maker selects them less often, because hashing is slow. */
const HASHES = new Set(['fetchApiKey', 'createUser', 'updateSettings']);
/** Root fields that always fail, because they need an external service which is not configured. */
const REFUSED = new Set(Object.keys(REFUSALS));
/**
 * Returns whether the text of a document with these root fields must stay unchanged. A change could make it name an account
 * that sends inputs.
 */
export const isDelicate = (fields: readonly string[]): boolean =>
  fields.some((field) => ENDS_SENDER.has(field) || ENDS_NAMED.has(field));

/** Maximum depth of the generated selections. Documents with this depth are mostly within the cost limit. */
const MAX_DEPTH = 4;

/** Makes random operations of a schema that use the objects of one organization. */
export class OperationMaker {
  readonly #schema: GraphQLSchema;
  readonly #cast: Cast;

  constructor(schema: GraphQLSchema, cast: Cast) {
    this.#schema = schema;
    this.#cast = cast;
  }

  make(dice: Dice): Operation {
    const isMutation = dice.chance(0.55);
    const root = (isMutation ? this.#schema.getMutationType() : this.#schema.getQueryType()) as GraphQLObjectType;
    const all = Object.values(root.getFields());
    const weighted = all.map((field) => [HASHES.has(field.name) || REFUSED.has(field.name) ? 0.2 : 1, field] as const);
    const count = isMutation ? (dice.chance(0.95) ? 1 : 2) : dice.int(1, 4);
    const document = new DocumentMaker(this.#cast, dice);
    const chosen = Array.from({ length: count }, () => dice.weighted(weighted));
    const selections = chosen.map((field, i) => {
      const alias = count > 1 ? `a${i}: ` : '';
      return `${alias}${field.name}${this.#arguments(root, field, document, dice)} ${document.selection(this.#schema, field.type, 0)}`;
    });
    const names = chosen.map(({ name }) => name);
    return {
      query: document.write(isMutation ? 'mutation' : 'query', selections),
      variables: document.variables,
      fields: names,
      byVictim: names.some((name) => ENDS_SENDER.has(name)),
    };
  }

  /**
   * Returns the text of a root field's arguments. Mostly they are those of a call that is known to work, sometimes with a
   * change.
   */
  #arguments(
    root: GraphQLObjectType,
    field: GraphQLField<unknown, unknown>,
    document: DocumentMaker,
    dice: Dice,
  ): string {
    const calls = GRAPHQL_CALLS[`${root.name}.${field.name}`]?.(this.#cast.names) ?? [];
    // Random arguments could disable an account that sends inputs.
    const isKnown = ENDS_NAMED.has(field.name) || dice.chance(0.75);
    const args = calls.length > 0 && isKnown ? dice.pick(calls).args : undefined;
    // Files need a multipart body, so only the trial of uploads sends them.
    if (args === undefined || holdsFile(args)) return document.arguments(field);
    const given = field.args.filter(({ name }) => name in args);
    const texts = given.map((arg) => {
      const chosen = dice.chance(0.25) ? dice.mutated(args[arg.name]) : args[arg.name];
      const value = ENDS_NAMED.has(field.name) ? this.#sandboxed(chosen) : chosen;
      const { [arg.name]: named } = withGlobalIds({ [arg.name]: value });
      return `${arg.name}: ${document.variable(arg.type, named)}`;
    });
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  }

  /** Returns the value with the ids of sending accounts replaced by the id of a victim. */
  #sandboxed(value: unknown): unknown {
    const { actors, names } = this.#cast;
    if (typeof value === 'number') return actors.some(({ id }) => id === value) ? names.userId : value;
    if (Array.isArray(value)) return value.map((element) => this.#sandboxed(element));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, this.#sandboxed(inner)]));
  }
}

/** The variables and fragments of a document under construction. */
class DocumentMaker {
  readonly variables: Record<string, unknown> = {};
  readonly #definitions: string[] = [];
  readonly #fragments: string[] = [];
  readonly #cast: Cast;
  readonly #dice: Dice;
  #aliases = 0;

  constructor(cast: Cast, dice: Dice) {
    this.#cast = cast;
    this.#dice = dice;
  }

  write(operation: string, selections: readonly string[]): string {
    const definitions = this.#definitions.length === 0 ? '' : `(${this.#definitions.join(', ')})`;
    return [`${operation} Fuzz${definitions} { ${selections.join(' ')} }`, ...this.#fragments].join('\n');
  }

  /** Declares a variable with a value. @returns The reference to it in the document. */
  variable(type: GraphQLInputType, value: unknown): string {
    const name = `v${this.#definitions.length}`;
    this.#definitions.push(`$${name}: ${type}`);
    this.variables[name] = value;
    return `$${name}`;
  }

  arguments({ args }: GraphQLField<unknown, unknown>): string {
    const given = args.filter(
      (arg) => isRequiredArgument(arg) || isPageSize(arg) || this.#dice.chance(isCursor(arg) ? 0.05 : 0.3),
    );
    // A page of a list can be requested only forwards or only backwards.
    const isBack = given.some(({ name }) => name === 'last') && this.#dice.chance(0.3);
    const kept = given.filter(({ name }) => !(isBack ? ['first', 'after'] : ['last', 'before']).includes(name));
    const texts = kept.map((arg) => {
      const value = this.#value(arg, 0);
      return `${arg.name}: ${this.#dice.chance(0.5) ? this.variable(arg.type, value) : literal(value, arg.type)}`;
    });
    return texts.length === 0 ? '' : `(${texts.join(', ')})`;
  }

  #value({ name, type }: GraphQLArgument | GraphQLInputField, depth: number): unknown {
    const dice = this.#dice;
    if (!isNonNullType(type) && dice.chance(0.05)) return null;
    const nullable = getNullableType(type);
    if (isListType(nullable)) {
      const element = { name, type: nullable.ofType } as GraphQLInputField;
      return Array.from({ length: dice.int(0, 4) }, () => this.#value(element, depth + 1));
    }
    if (isEnumType(nullable)) return dice.pick(nullable.getValues()).name;
    if (isInputObjectType(nullable)) {
      const fields = Object.values(nullable.getFields());
      if (nullable.isOneOf) {
        const one = dice.pick(fields);
        return { [one.name]: this.#value({ ...one, type: getNullableType(one.type) } as GraphQLInputField, depth + 1) };
      }
      const share = fields.length > 12 ? 0.1 : depth > 3 ? 0.1 : 0.45;
      const given = fields.filter((field) => isNonNullType(field.type) || dice.chance(share));
      return Object.fromEntries(given.map((field) => [field.name, this.#value(field, depth + 1)]));
    }
    return this.#scalar(name, getNamedType(nullable).name);
  }

  #scalar(name: string, type: string): unknown {
    const dice = this.#dice;
    const thing = namedThing(name, this.#cast, dice);
    switch (type) {
      case 'Int':
      case 'LongId':
        if (isPageSize({ name })) return dice.int(1, 6);
        if (typeof thing === 'number' && dice.chance(0.9)) return thing;
        return dice.chance(0.8) ? dice.int(0, 100) : dice.number() | 0;
      case 'Float':
        return dice.random() * 100;
      case 'Boolean':
        return dice.chance(0.5);
      case 'DateTime':
        return dice.pick([
          '2100-01-01T00:00:00Z',
          '2026-01-01T00:00:00Z',
          '0001-01-01T00:00:00Z',
          '9999-12-31T23:59:59Z',
        ]);
      case 'ID': {
        const named = withGlobalIds({ [name]: thing })[name];
        if (typeof named === 'string' && named !== thing && dice.chance(0.9)) return named;
        return dice.chance(0.85) ? dice.pick(nodeIds(this.#cast.names)) : dice.text();
      }
      case 'File':
        return null;
      default:
        if (typeof thing === 'string' && dice.chance(0.8)) return thing;
        if (/cursor|after|before/.test(name)) return dice.chance(0.3) ? btoa(`cursor:${dice.int(0, 99)}`) : dice.text();
        return dice.chance(0.6) ? `text ${dice.int(0, 1_000)}` : dice.text();
    }
  }

  /**
   * Returns a random selection of an output type. Empty for scalars and enums.
   *
   * @param depth Maximum number of further levels.
   * @param isOfSeveral Whether the document selects other types in the same place, as for a union.
   */
  selection(schema: GraphQLSchema, output: GraphQLOutputType, depth: number, isOfSeveral = false): string {
    const dice = this.#dice;
    const type = getNamedType(output);
    if (isLeafType(type)) return '';
    if (isAbstractType(type)) {
      const error = schema.getType('ServiceError');
      const isFallible =
        type.name !== 'ServiceError' &&
        schema.getPossibleTypes(type).some((one) => isAbstractType(error) && schema.isSubType(error, one));
      const some = schema.getPossibleTypes(type).filter(({ name }) => !name.endsWith('Error') && dice.chance(0.6));
      const fragments = some.map((one) => `... on ${one.name} ${this.selection(schema, one, depth + 1, true)}`);
      return `{ __typename ${isFallible ? '... on ServiceError { code message }' : ''} ${fragments.join(' ')} }`;
    }
    if (!isObjectType(type)) return '{ __typename }';
    const fields = Object.values(type.getFields());
    const [leaves, others] = [
      fields.filter((field) => isLeafType(getNamedType(field.type))),
      fields.filter((field) => !isLeafType(getNamedType(field.type))),
    ];
    const share = Math.min(0.7, 6 / Math.max(1, leaves.length));
    const chosen = [
      ...leaves.filter(() => dice.chance(share)),
      ...(depth >= MAX_DEPTH ? [] : others.filter(() => dice.chance(Math.min(0.6, 2 / others.length)))),
    ];
    const texts = chosen.map((field) => {
      const inner = this.selection(schema, field.type, depth + 1);
      // The alias is unique, because the field may also be selected with other arguments or on another type.
      const alias = isOfSeveral || field.args.length > 0 ? `x${this.#aliases++}: ` : '';
      const directive = dice.chance(0.03) ? ` @${dice.pick(['skip', 'include'])}(if: ${dice.chance(0.5)})` : '';
      return `${alias}${field.name}${this.arguments(field)}${directive} ${inner}`;
    });
    if (texts.length === 0 || dice.chance(0.1)) texts.push('__typename');
    if (depth > 0 && dice.chance(0.05)) return this.#fragment(type, texts);
    return `{ ${texts.join(' ')} }`;
  }

  #fragment(type: GraphQLObjectType, texts: readonly string[]): string {
    const name = `F${this.#fragments.length}`;
    this.#fragments.push(`fragment ${name} on ${type.name} { ${texts.join(' ')} }`);
    return `{ ...${name} }`;
  }
}

const isCursor = ({ name }: { name: string }): boolean => name === 'after' || name === 'before';
const isPageSize = ({ name }: { name: string }): boolean => name === 'first' || name === 'last';

/** Formats a value as a literal of the GraphQL language. @param type If given, determines which texts are enum values. */
export function literal(value: unknown, type?: GraphQLInputType): string {
  const named = type && getNullableType(type);
  if (Array.isArray(value)) {
    const inner = named && isListType(named) ? named.ofType : undefined;
    return `[${value.map((element) => literal(element, inner)).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const fields = named && isInputObjectType(named) ? named.getFields() : {};
    return `{${Object.entries(value)
      .map(([name, inner]) => `${name}: ${literal(inner, fields[name]?.type)}`)
      .join(', ')}}`;
  }
  if (named !== undefined && isEnumType(named) && typeof value === 'string') return value;
  return JSON.stringify(value) ?? 'null';
}
