import { Choice } from '../ui/form.tsx';
import { Select, type SettingProps, SettingsForm, Switches } from './setting-fields.tsx';

const LANGUAGES = ['en', 'de', 'es', 'fr', 'it', 'ja', 'ko', 'nl', 'pl', 'pt-br', 'ru', 'sv', 'tr', 'uk', 'zh-hans'];
const SIZES = [12, 14, 16, 18, 20];
const COLORS = [
  ['AUTOMATIC', 'As the system'],
  ['LIGHT', 'Light'],
  ['DARK', 'Dark'],
] as const;
const CLOCKS = [
  ['null', 'As the browser has it'],
  ['false', '12 hours, 3:30 PM'],
  ['true', '24 hours, 15:30'],
] as const;
const READERS_OF_ADDRESS = [
  ['EVERYONE', 'Everyone'],
  ['MEMBERS', 'Members'],
  ['MODERATORS', 'Moderators'],
  ['ADMINISTRATORS', 'Administrators'],
  ['NOBODY', 'Nobody'],
] as const;
const TRIGGERS = [
  ['PARTICIPATING', 'I take part in them in any way'],
  ['SENDING', 'I send a message to them'],
  ['STARTING', 'I start them'],
  ['NEVER', 'Never'],
] as const;
const MARKING = [
  ['ALWAYS', 'Always'],
  ['IN_CONVERSATION_VIEWS', 'In topics and direct conversations'],
  ['NEVER', 'Never'],
] as const;

/** How the chat looks and behaves for the viewer, and what it tells others of them. */
export const Preferences = () => <SettingsForm Fields={Fields} />;

function Fields(props: SettingProps) {
  const { settings, change } = props;
  return (
    <>
      <Select {...props} name="colorScheme" label="Colors" options={COLORS} />
      <Choice
        label="Size of text"
        value={String(settings.webFontSizePx)}
        options={withCurrent(SIZES, settings.webFontSizePx).map((size) => [String(size), `${size} pixels`])}
        onChoose={(size) => void change({ webFontSizePx: Number(size) })}
      />
      <Select
        {...props}
        name="defaultLanguage"
        label="Language"
        hint="Of what the service writes to you. This page speaks English."
        options={withCurrent(LANGUAGES, settings.defaultLanguage).map((code) => [code, nameOfLanguage(code)])}
      />
      <Choice
        label="Clock"
        value={String(settings.twentyFourHourTime)}
        options={CLOCKS}
        onChoose={(value) => void change({ twentyFourHourTime: value === 'null' ? null : value === 'true' })}
      />
      <Select {...props} name="timezone" label="Time zone" options={timeZones(settings.timezone)} />
      <Switches
        {...props}
        legend="Writing"
        of={[
          ['enterSends', 'Enter sends a message'],
          ['translateEmoticons', 'Emoticons such as :) become emoji'],
        ]}
      />
      <Switches
        {...props}
        legend="What others hear of you"
        of={[
          ['presenceEnabled', 'Whether you are here'],
          ['sendReadReceipts', 'That you have read a message'],
          ['sendPrivateTypingNotifications', 'That you type a direct message'],
          ['sendChannelTypingNotifications', 'That you type in a channel'],
        ]}
      />
      <Select {...props} name="emailAddressVisibility" label="Who sees your address" options={READERS_OF_ADDRESS} />
      <Switches
        {...props}
        legend="What you see of others"
        of={[
          ['receivesTypingNotifications', 'Who is typing'],
          ['displayEmojiReactionUsers', 'Who has reacted, where they are few'],
        ]}
      />
      <Select {...props} name="automaticallyFollowTopicsPolicy" label="Follow topics when" options={TRIGGERS} />
      <Select
        {...props}
        name="automaticallyUnmuteTopicsInMutedChannelsPolicy"
        label="Unmute topics of muted channels when"
        options={TRIGGERS}
      />
      <Select {...props} name="webMarkReadOnScrollPolicy" label="Scrolling marks as read" options={MARKING} />
    </>
  );
}

/** What is set may be none of those that are offered. */
const withCurrent = <T,>(offered: readonly T[], current: T): readonly T[] =>
  offered.includes(current) ? offered : [...offered, current];

function nameOfLanguage(code: string): string {
  try {
    return new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? code;
  } catch {
    return code;
  }
}

const timeZones = (current: string): readonly (readonly [string, string])[] =>
  withCurrent(['', ...Intl.supportedValuesOf('timeZone')], current).map((zone) => [
    zone,
    zone === '' ? 'Not said' : zone.replaceAll('_', ' '),
  ]);
