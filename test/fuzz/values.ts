import type { Schema } from '../../src/api/rest/openapi.ts';
import type { Dice } from './dice.ts';
import type { Cast } from './stage.ts';

/**
 * Returns the id or name of an existing object to which a parameter or field with the name `name` can refer. Undefined if the
 * name suggests no kind of object.
 */
export function namedThing(name: string, { names, victims, scene }: Cast, dice: Dice): unknown {
  const key = name.toLowerCase();
  const people = () => dice.pick([names.userId, names.leaverId, ...victims.map(({ id }) => id), scene.member.id]);
  const channels = () => dice.pick([names.channelId, names.channelId, names.moderationChannelId, names.archivedId]);
  const things: readonly (readonly [RegExp, () => unknown])[] = [
    [/queue/, () => names.queueId],
    [/draft/, () => names.draftId],
    [/snippet/, () => names.snippetId],
    [/scheduled_?message/, () => names.scheduledMessageId],
    [/reminder/, () => names.reminderId],
    [/folder/, () => names.folderId],
    [/message|msg|anchor/, () => dice.pick([names.messageId, names.directMessageId])],
    [/group/, () => dice.pick([names.groupId, names.membersGroupId, names.everyoneGroupId, names.customGroupId])],
    [/bot/, () => names.botId],
    [/emoji_?name/, () => dice.pick([names.emojiName, 'tada', 'octopus'])],
    [/field/, () => dice.pick([names.profileFieldId, names.choiceFieldId])],
    [/fragment/, () => names.fragment],
    [/domain/, () => names.domain],
    [/(stream|channel)_?name|^streams?$/, () => names.channelName],
    [/stream|channel/, channels],
    [/email|username/, () => names.email],
    [/user|people|member|principal|subscriber|owner|sender|leaver/, people],
    [/^to$|^id$|ids$/, () => (dice.chance(0.5) ? people() : channels())],
    [/topic/, () => dice.pick(['greetings', 'a topic', ''])],
  ];
  return things.find(([pattern]) => pattern.test(key))?.[1]();
}

/**
 * Returns a value that a JSON schema accepts. If the parameter's name suggests an object, the value refers to an existing one.
 */
export function valueLike(schema: Schema, name: string, cast: Cast, dice: Dice, depth = 0): unknown {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return valueLike(dice.pick(alternatives), name, cast, dice, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return dice.pick(schema.enum);
  const type = typeof schema.type === 'object' ? dice.pick(schema.type) : schema.type;
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return dice.chance(0.5);
    case 'integer':
    case 'number':
      return numberFor(schema, name, cast, dice);
    case 'string':
      return textFor(name, cast, dice);
    case 'array': {
      const { items, prefixItems = [] } = schema;
      const more = typeof items === 'object' ? Array.from({ length: dice.int(0, 4) }, () => items) : [];
      return [...prefixItems, ...more].map((item) => valueLike(item, name, cast, dice, depth + 1));
    }
    case 'object':
      return objectFor(schema, cast, dice, depth);
    default:
      return dice.json();
  }
}

function objectFor(schema: Schema, cast: Cast, dice: Dice, depth: number): object {
  const { properties = {}, required = [], additionalProperties } = schema;
  const share = Object.keys(properties).length > 12 ? 0.15 : 0.5;
  const entries = Object.entries(properties)
    .filter(([name]) => required.includes(name) || dice.chance(share))
    .map(([name, inner]) => [name, valueLike(inner, name, cast, dice, depth + 1)]);
  if (typeof additionalProperties === 'object' && depth < 4) {
    entries.push([dice.text(), valueLike(additionalProperties, '', cast, dice, depth + 1)]);
  }
  return Object.fromEntries(entries);
}

function numberFor({ minimum = 0, maximum = 100 }: Schema, name: string, cast: Cast, dice: Dice): number {
  const thing = namedThing(name, cast, dice);
  if (typeof thing === 'number' && dice.chance(0.85)) return thing;
  return dice.chance(0.8) ? dice.int(minimum, Math.max(minimum, maximum) + 1) : dice.number();
}

function textFor(name: string, cast: Cast, dice: Dice): string {
  const thing = namedThing(name, cast, dice);
  if (thing !== undefined && dice.chance(0.8)) return String(thing);
  return dice.chance(0.6) ? `text ${dice.int(0, 1_000)}` : dice.text();
}
