import SchemaBuilder, {
  BasePlugin,
  createInputValueMapper,
  type InputTypeFieldsMapping,
  mapInputFields,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { rowIdOf, toGlobalId } from './global-ids.ts';

/** What an argument, input field or field of type ID says of itself. */
// A type and no interface, which would not do for a record of extensions.
type RefExtensions = { readonly refersTo: string };

/**
 * Options of an argument, input field or field that names an object: `channelId: t.id(refersTo('Channel'))`. Clients give
 * and get the object's global `id`; resolvers get and give the number of its row. They get 0, which no row has, for what is
 * no id of that type: a foreign, malformed or wrong-type id is an object that is not there, in the words the service has
 * for that.
 */
export const refersTo = (typename: string): { readonly extensions: RefExtensions } => ({
  extensions: { refersTo: typename },
});

/** The type an argument or input field names objects of; undefined where it names none. */
export const referredType = (extensions: object | null | undefined): string | undefined =>
  (extensions as Partial<RefExtensions> | null | undefined)?.refersTo;

/** What clients are shown of a field's value: global ids for the numbers of rows, where the field names objects. */
export function shownIds(extensions: object | null | undefined, value: unknown): unknown {
  const typename = referredType(extensions);
  if (typename === undefined) return value;
  if (Array.isArray(value)) return value.map((id) => shownIds(extensions, id));
  return value === null || value === undefined ? null : toGlobalId(typename, value as number);
}

/** Turns global ids into numbers of rows before resolvers see them, wherever they stand in the arguments, and back. */
class RefsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  readonly #mappings = new Map<string, InputTypeFieldsMapping<Types, string>>();

  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const mapping = mapInputFields(
      field.args,
      this.buildCache,
      ({ extensions }) => referredType(extensions) ?? null,
      this.#mappings,
    );
    if (mapping === null) return field;
    const toRowIds = createInputValueMapper(mapping, (globalId, { value: typename }) =>
      rowIdOf(typename ?? '', globalId as string),
    );
    return { ...field, argMappers: [...(field.argMappers ?? []), (args) => toRowIds(args, undefined)] };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { extensions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (referredType(extensions) === undefined) return resolve;
    const encode = (ids: unknown) => shownIds(extensions, ids);
    return (...field) => {
      const ids: unknown = resolve(...field);
      // What an event's fields show is worked out at once.
      return ids instanceof Promise ? ids.then(encode) : encode(ids);
    };
  }
}

/** Of the plugin, for the builder. */
export const REFS = 'refs';

SchemaBuilder.registerPlugin(REFS, RefsPlugin);

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      refs: RefsPlugin<Types>;
    }
  }
}
