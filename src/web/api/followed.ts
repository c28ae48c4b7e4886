/**
 * The lists whose readers are at their end. Such a list grows with each new message, and loses the oldest for it; of
 * others nothing is taken away that somebody may be looking at.
 */
const followed = new Set<string>();

/** @param key `narrowKey` of the list. */
export function follow(key: string, isFollowed: boolean): void {
  if (isFollowed) followed.add(key);
  else followed.delete(key);
}

export const isFollowed = (key: string): boolean => followed.has(key);
