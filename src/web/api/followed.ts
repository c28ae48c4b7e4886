/**
 * Keys (`narrowKey`) of the message lists that the viewer has scrolled close to the newest message. When such a list is full,
 * each new message removes the oldest one. Other lists drop no messages, because the viewer may be reading them.
 */
const followed = new Set<string>();

/** Records whether the viewer has scrolled a list close to its newest message. @param key `narrowKey` of the list. */
export function follow(key: string, isFollowed: boolean): void {
  if (isFollowed) followed.add(key);
  else followed.delete(key);
}

export const isFollowed = (key: string): boolean => followed.has(key);
