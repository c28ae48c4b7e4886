import { describe, expect, test } from 'vitest';
import { alertOf } from '../../src/web/notifications/alerts.ts';

type Arguments = Parameters<typeof alertOf>;
type Message = Partial<Arguments[0]>;
type Settings = Arguments[1]['settings'];
type Subscription = NonNullable<Arguments[1]['subscription']>;

/** Settings with all notifications off. */
const OFF = {
  enableDesktopNotifications: false,
  enableSounds: false,
  enableChannelDesktopNotifications: false,
  enableChannelAudibleNotifications: false,
  enableFollowedTopicDesktopNotifications: false,
  enableFollowedTopicAudibleNotifications: false,
  wildcardMentionsNotify: false,
  enableFollowedTopicWildcardMentionsNotify: false,
  quietHours: '',
} as Settings;
const PERSONAL = { enableDesktopNotifications: true, enableSounds: true };
const CHANNELS = { enableChannelDesktopNotifications: true, enableChannelAudibleNotifications: true };
const FOLLOWED = { enableFollowedTopicDesktopNotifications: true, enableFollowedTopicAudibleNotifications: true };

interface Case {
  readonly of?: Message;
  readonly with?: Partial<Settings>;
  readonly in?: Partial<Subscription>;
  readonly topic?: Arguments[1]['visibility'];
}

const notified = ({ of, with: settings, in: subscription, topic = 'INHERIT' }: Case): string => {
  const message = { type: 'CHANNEL', flags: [], viewerHasRead: false, ...of } as Arguments[0];
  const inherited = { isMuted: false, desktopNotifications: null, audibleNotifications: null };
  const { isShown, isAudible } = alertOf(message, {
    settings: { ...OFF, ...settings },
    subscription: { ...inherited, wildcardMentionsNotify: null, ...subscription } as Subscription,
    visibility: topic,
    timeZone: 'Asia/Kolkata',
  });
  return [isShown ? 'shown' : '', isAudible ? 'audible' : ''].filter((word) => word !== '').join(' and ') || 'silent';
};

/** Returns the present time of day in India, which is five and a half hours ahead of UTC, plus a number of hours. */
const inIndia = (hours: number): string => new Date(Date.now() + (5.5 + hours) * 3_600_000).toISOString().slice(11, 16);

const DIRECT: Message = { type: 'DIRECT' };
const MENTION: Message = { flags: ['MENTIONED'] };
const ALERT_WORD: Message = { flags: ['HAS_ALERT_WORD'] };
const OF_ALL: Message = { flags: ['CHANNEL_WILDCARD_MENTIONED'] };
const OF_TOPIC: Message = { flags: ['TOPIC_WILDCARD_MENTIONED'] };

describe('the notification of a message', () => {
  test.each<[string, Case, string]>([
    ['a direct message', { of: DIRECT, with: PERSONAL }, 'shown and audible'],
    ['a direct message, switched off', { of: DIRECT, with: { ...CHANNELS, ...FOLLOWED } }, 'silent'],
    ['a direct message without sound', { of: DIRECT, with: { enableDesktopNotifications: true } }, 'shown'],
    ['a direct message with sound only', { of: DIRECT, with: { enableSounds: true } }, 'audible'],
    ['a read direct message', { of: { ...DIRECT, viewerHasRead: true }, with: PERSONAL }, 'silent'],
    [
      'a direct message in quiet hours',
      { of: DIRECT, with: { ...PERSONAL, quietHours: `${inIndia(-1)}-${inIndia(1)}` } },
      'silent',
    ],
    [
      'a direct message outside quiet hours',
      { of: DIRECT, with: { ...PERSONAL, quietHours: `${inIndia(1)}-${inIndia(-1)}` } },
      'shown and audible',
    ],
    ['a mention', { of: MENTION, with: PERSONAL }, 'shown and audible'],
    ['a mention in a muted channel', { of: MENTION, with: PERSONAL, in: { isMuted: true } }, 'shown and audible'],
    ['a mention in a muted topic', { of: MENTION, with: PERSONAL, topic: 'MUTED' }, 'shown and audible'],
    ['an alert word', { of: ALERT_WORD, with: PERSONAL }, 'shown and audible'],
    ['an alert word in a muted topic', { of: ALERT_WORD, with: PERSONAL, topic: 'MUTED' }, 'silent'],
    ['a mention of all, off by default', { of: OF_ALL, with: PERSONAL }, 'silent'],
    ['a mention of all', { of: OF_ALL, with: { ...PERSONAL, wildcardMentionsNotify: true } }, 'shown and audible'],
    [
      'a mention of a topic',
      { of: OF_TOPIC, with: { ...PERSONAL, wildcardMentionsNotify: true } },
      'shown and audible',
    ],
    [
      'a mention of all, on for the channel',
      { of: OF_ALL, with: PERSONAL, in: { wildcardMentionsNotify: true } },
      'shown and audible',
    ],
    [
      'a mention of all, off for the channel',
      { of: OF_ALL, with: { ...PERSONAL, wildcardMentionsNotify: true }, in: { wildcardMentionsNotify: false } },
      'silent',
    ],
    [
      'a mention of all in a muted channel',
      { of: OF_ALL, with: { ...PERSONAL, wildcardMentionsNotify: true }, in: { isMuted: true } },
      'silent',
    ],
    [
      'a mention of all in a followed topic',
      { of: OF_ALL, with: { ...PERSONAL, enableFollowedTopicWildcardMentionsNotify: true }, topic: 'FOLLOWED' },
      'shown and audible',
    ],
    ['a followed topic', { with: FOLLOWED, topic: 'FOLLOWED' }, 'shown and audible'],
    [
      'a followed topic in a muted channel',
      { with: FOLLOWED, topic: 'FOLLOWED', in: { isMuted: true } },
      'shown and audible',
    ],
    ['a topic that is not followed', { with: FOLLOWED }, 'silent'],
    ['a channel message', { with: CHANNELS }, 'shown and audible'],
    ['a channel message, off by default', { with: PERSONAL }, 'silent'],
    ['a channel message, on for the channel', { in: { desktopNotifications: true } }, 'shown'],
    [
      'a channel message, with the sound off for the channel',
      { with: CHANNELS, in: { audibleNotifications: false } },
      'shown',
    ],
    ['a channel message in a muted channel', { with: CHANNELS, in: { isMuted: true } }, 'silent'],
    [
      'an unmuted topic in a muted channel',
      { with: CHANNELS, in: { isMuted: true }, topic: 'UNMUTED' },
      'shown and audible',
    ],
    ['a muted topic', { with: CHANNELS, topic: 'MUTED' }, 'silent'],
  ])('%s', (_, situation, expected) => {
    expect(notified(situation)).toBe(expected);
  });
});
