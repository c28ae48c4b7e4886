import { expect, test } from 'vitest';
import { belongsTo } from '../../src/web/api/narrow.ts';

test.each([
  // Notes to self, and conversations with one and two others, each named with and without the viewer.
  [['me'], ['me'], true],
  [[], ['me'], true],
  [['me'], ['me', 'ann'], false],
  [['ann'], ['me', 'ann'], true],
  [['me', 'ann'], ['ann', 'me'], true],
  [['ann'], ['me'], false],
  [['ann'], ['me', 'bo'], false],
  [['ann'], ['me', 'ann', 'bo'], false],
  [['me', 'ann'], ['me', 'ann', 'bo'], false],
  [['ann', 'bo'], ['me', 'ann', 'bo'], true],
  [['ann', 'ann'], ['me', 'ann'], true],
])('the page lists a message under %j if its participants are %j: %s', (directWith, participantIds, isListed) => {
  const message = { channelId: null, topicName: '', participantIds };
  expect(belongsTo({ directWith }, message, 'me')).toBe(isListed);
  expect(belongsTo({ directWith }, { ...message, channelId: 'c' }, 'me')).toBe(false);
  // A message of a channel that the viewer cannot see.
  expect(belongsTo({ directWith }, { ...message, participantIds: [] }, 'me')).toBe(false);
});
