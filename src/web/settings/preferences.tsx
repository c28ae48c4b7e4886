import { Choice, FormSection } from '../ui/form.tsx';
import { LANGUAGES, nameOfLanguage, withCurrent, withCurrentOption } from '../ui/options.ts';
import { ChoiceSetting, type SettingProps, SettingsForm, Switches } from './setting-fields.tsx';

const SIZES = [12, 14, 16, 18, 20];
const COLORS = [
  ['AUTOMATIC', 'System default'],
  ['LIGHT', 'Light'],
  ['DARK', 'Dark'],
] as const;
const CLOCKS = [
  ['null', 'Browser default'],
  ['false', '12-hour, 3:30 PM'],
  ['true', '24-hour, 15:30'],
] as const;
const READERS_OF_ADDRESS = [
  ['EVERYONE', 'Everyone'],
  ['MEMBERS', 'Members'],
  ['MODERATORS', 'Moderators'],
  ['ADMINISTRATORS', 'Administrators'],
  ['NOBODY', 'Nobody'],
] as const;
const TRIGGERS = [
  ['PARTICIPATING', 'When I participate in any way'],
  ['SENDING', 'When I send a message'],
  ['STARTING', 'When I start the topic'],
  ['NEVER', 'Never'],
] as const;
const MARKING = [
  ['ALWAYS', 'Always'],
  ['IN_CONVERSATION_VIEWS', 'In topics and direct messages'],
  ['NEVER', 'Never'],
] as const;

/** Settings for the appearance and behavior of the chat, and for what other users can see. */
export const Preferences = () => <SettingsForm Fields={Fields} />;

function Fields(props: SettingProps) {
  const { settings, change } = props;
  return (
    <>
      <FormSection title="Appearance">
        <ChoiceSetting {...props} name="colorScheme" label="Theme" options={COLORS} />
        <Choice
          label="Text size"
          value={String(settings.webFontSizePx)}
          options={withCurrent(SIZES, settings.webFontSizePx).map((size) => [String(size), `${size} pixels`])}
          onChoose={(size) => void change({ webFontSizePx: Number(size) })}
        />
      </FormSection>
      <FormSection title="Language and time">
        <ChoiceSetting
          {...props}
          name="defaultLanguage"
          label="Language"
          hint="Interface language in other clients. This page is in English."
          options={withCurrentOption(LANGUAGES, settings.defaultLanguage, nameOfLanguage)}
        />
        <Choice
          label="Time format"
          value={String(settings.twentyFourHourTime)}
          options={CLOCKS}
          onChoose={(value) => void change({ twentyFourHourTime: value === 'null' ? null : value === 'true' })}
        />
        <ChoiceSetting {...props} name="timezone" label="Time zone" options={timeZones(settings.timezone)} />
      </FormSection>
      <FormSection title="Messages">
        <Switches
          {...props}
          of={[
            ['enterSends', 'Enter sends a message'],
            ['translateEmoticons', 'Convert emoticons such as :) to emoji'],
            ['receivesTypingNotifications', 'Show typing notifications of other users'],
            ['displayEmojiReactionUsers', 'Show names of users who reacted, if there are few'],
          ]}
        />
        <ChoiceSetting
          {...props}
          name="webMarkReadOnScrollPolicy"
          label="Mark messages as read on scroll"
          options={MARKING}
        />
      </FormSection>
      <FormSection title="Topics">
        <ChoiceSetting
          {...props}
          name="automaticallyFollowTopicsPolicy"
          label="Automatically follow topics"
          options={TRIGGERS}
        />
        <Switches
          {...props}
          of={[['automaticallyFollowTopicsWhereMentioned', 'Automatically follow topics in which I am mentioned']]}
        />
        <ChoiceSetting
          {...props}
          name="automaticallyUnmuteTopicsInMutedChannelsPolicy"
          label="Automatically unmute topics in muted channels"
          options={TRIGGERS}
        />
      </FormSection>
      <FormSection title="Privacy">
        <Switches
          {...props}
          legend="Visible to other users"
          of={[
            ['presenceEnabled', 'Your presence'],
            ['sendReadReceipts', 'Your read receipts'],
            ['sendDirectTypingNotifications', 'Your typing notifications in direct messages'],
            ['sendChannelTypingNotifications', 'Your typing notifications in channels'],
          ]}
        />
        <ChoiceSetting
          {...props}
          name="emailAddressVisibility"
          label="Who can see your email address"
          options={READERS_OF_ADDRESS}
        />
      </FormSection>
    </>
  );
}

const timeZones = (current: string): readonly (readonly [string, string])[] =>
  withCurrent(['', ...Intl.supportedValuesOf('timeZone')], current).map((zone) => [
    zone,
    zone === '' ? 'Not set' : zone.replaceAll('_', ' '),
  ]);
