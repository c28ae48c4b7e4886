import { Select, type SettingProps, SettingsForm, Switches } from './setting-fields.tsx';

const SOUNDS = [
  ['DEFAULT', 'The usual one'],
  ['DING', 'Ding'],
  ['CHIME', 'Chime'],
  ['NONE', 'None'],
] as const;

/** What the viewer is told of, and by which way. */
export const Notifications = () => <SettingsForm Fields={Fields} />;

function Fields(props: SettingProps) {
  return (
    <>
      <Switches
        {...props}
        legend="Direct messages, mentions and alert words"
        of={[
          ['enableDesktopNotifications', 'On the desktop'],
          ['enableSounds', 'With a sound'],
          ['enableOfflinePushNotifications', 'On the phone, while you are away'],
          ['enableOnlinePushNotifications', 'On the phone, also while you are here'],
          ['enableOfflineEmailNotifications', 'By mail, while you are away'],
          ['wildcardMentionsNotify', 'Also for mentions of everybody'],
        ]}
      />
      <Switches
        {...props}
        legend="Followed topics"
        of={[
          ['enableFollowedTopicDesktopNotifications', 'On the desktop'],
          ['enableFollowedTopicAudibleNotifications', 'With a sound'],
          ['enableFollowedTopicPushNotifications', 'On the phone'],
          ['enableFollowedTopicEmailNotifications', 'By mail'],
          ['enableFollowedTopicWildcardMentionsNotify', 'Mentions of everybody as if they were of you'],
        ]}
      />
      <Switches
        {...props}
        legend="All other messages in channels"
        of={[
          ['enableChannelDesktopNotifications', 'On the desktop'],
          ['enableChannelAudibleNotifications', 'With a sound'],
          ['enableChannelPushNotifications', 'On the phone'],
          ['enableChannelEmailNotifications', 'By mail'],
        ]}
      />
      <Select {...props} name="notificationSound" label="Sound" options={SOUNDS} />
      <Switches
        {...props}
        legend="What they hold"
        of={[
          ['pmContentInDesktopNotifications', 'The text of direct messages, on the desktop'],
          ['messageContentInEmailNotifications', 'The text of messages, in mails'],
        ]}
      />
      <Switches
        {...props}
        legend="Mails of other kinds"
        of={[
          ['enableDigestEmails', 'What was said while you were away'],
          ['enableLoginEmails', 'That somebody signed in from a new device'],
        ]}
      />
    </>
  );
}
