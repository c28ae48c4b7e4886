/**
 * The keys of the lists whose viewer is at the newest message. When such a list is full, each new message removes the oldest
 * one. Other lists drop no messages, because the viewer may be reading them.
 */
const followed = new Set<string>();

/** Records whether the viewer is at the newest message of a list. @param key `narrowKey` of the list. */
export function follow(key: string, isFollowed: boolean): void {
  if (isFollowed) followed.add(key);
  else followed.delete(key);
}

export const isFollowed = (key: string): boolean => followed.has(key);
