/** What stands before the name of a topic that is resolved: that is all there is to it. */
export const RESOLVED_MARK = '✔ ';

/** The name of a topic as it is when it is not resolved. */
export const withoutMark = (name: string): string =>
  name.startsWith(RESOLVED_MARK) ? name.slice(RESOLVED_MARK.length) : name;

/** The topic without a name has one to be shown. */
export const shownTopic = (name: string): string => (name === '' ? 'general chat' : name);
