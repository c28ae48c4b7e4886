import { builder } from '../../api/graphql/schema/builder.ts';
import type { EmojiReference } from './emoji.ts';
import { EMOJI_CODE, ReactionTypeEnum } from './reaction-type.ts';

const EmojiCodeInput = builder.inputType('EmojiCodeInput', {
  description: 'An emoji by code and namespace.',
  fields: (t) => ({
    emojiCode: t.string({ description: EMOJI_CODE }),
    reactionType: t.field({ type: ReactionTypeEnum, description: 'Namespace of `emojiCode`.' }),
  }),
});

/** GraphQL input type for an emoji that is given by code or by name. */
export const EmojiRef = builder.inputType('EmojiRef', {
  isOneOf: true,
  description: 'An emoji by code or name.',
  fields: (t) => ({
    code: t.field({ type: EmojiCodeInput, required: false, description: 'Code of the emoji, with its namespace.' }),
    name: t.string({ required: false, description: 'Name of the emoji, without colons.' }),
  }),
});

/** Converts the emoji in a GraphQL input to the form that services accept. */
export const givenEmoji = ({ name, code }: typeof EmojiRef.$inferInput): EmojiReference => ({
  name: name ?? undefined,
  code: code?.emojiCode,
  type: code?.reactionType,
});
