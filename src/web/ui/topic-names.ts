/** Prefix in the name of a resolved topic. No other property marks a topic as resolved. */
const RESOLVED_MARK = '✔ ';

/** Returns the name of a topic without the mark of resolved topics. */
export const withoutMark = (name: string): string =>
  name.startsWith(RESOLVED_MARK) ? name.slice(RESOLVED_MARK.length) : name;

/** Returns the display name of a topic. The topic without a name is shown as "general chat". */
export const shownTopic = (name: string): string => (name === '' ? 'general chat' : name);
