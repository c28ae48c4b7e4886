/** Types of profile fields: the number, and the display name. */
export const FIELD_TYPES = {
  SHORT_TEXT: { id: 1, name: 'Text (short)' },
  PARAGRAPH: { id: 2, name: 'Text (long)' },
  DROPDOWN: { id: 3, name: 'List of options' },
  DATE: { id: 4, name: 'Date' },
  URL: { id: 5, name: 'Link' },
  USER: { id: 6, name: 'Users' },
  EXTERNAL_ACCOUNT: { id: 7, name: 'External account' },
  PRONOUNS: { id: 8, name: 'Pronouns' },
} as const;

export type FieldType = (typeof FIELD_TYPES)[keyof typeof FIELD_TYPES]['id'];

export const isFieldType = (type: number): type is FieldType =>
  Object.values(FIELD_TYPES).some(({ id }) => id === type);

/** Returns whether values of this type are Markdown. */
export const isMarkdown = (type: number): boolean =>
  type === FIELD_TYPES.SHORT_TEXT.id || type === FIELD_TYPES.PARAGRAPH.id;

/** Returns whether a field of this type can be shown in profile summaries. */
export const canBeInSummary = (type: number): boolean => type !== FIELD_TYPES.USER.id;

/** Returns whether users can be looked up by their value in a field of this type. */
export const canMatchUsers = (type: number): boolean =>
  type === FIELD_TYPES.SHORT_TEXT.id || type === FIELD_TYPES.EXTERNAL_ACCOUNT.id;
