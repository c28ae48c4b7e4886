import { parseQuietHours } from '../../contract/quiet-hours.ts';
import { play } from '../notifications/sound.ts';
import { Check, FormSection, TextField } from '../ui/form.tsx';
import { PushDevices } from './push-devices.tsx';
import { ChoiceSetting, type SettingProps, SettingsForm, Switches } from './setting-fields.tsx';

/** Columns of the table: headings, and the kinds of notification in labels. */
const COLUMNS = [
  ['Desktop', 'desktop notification'],
  ['Sound', 'sound'],
  ['Push', 'push notification'],
  ['Email', 'email'],
] as const;

/** Rows of the table: messages, and their settings in the order of the columns. */
const ROWS = [
  [
    'Direct messages, mentions and alert words',
    ...(['enableDesktopNotifications', 'enableSounds'] as const),
    ...(['enableOfflinePushNotifications', 'enableOfflineEmailNotifications'] as const),
  ],
  [
    'Followed topics',
    ...(['enableFollowedTopicDesktopNotifications', 'enableFollowedTopicAudibleNotifications'] as const),
    ...(['enableFollowedTopicPushNotifications', 'enableFollowedTopicEmailNotifications'] as const),
  ],
  [
    'Other messages in channels',
    ...(['enableChannelDesktopNotifications', 'enableChannelAudibleNotifications'] as const),
    ...(['enableChannelPushNotifications', 'enableChannelEmailNotifications'] as const),
  ],
] as const;

const SOUNDS = [
  ['DEFAULT', 'Default'],
  ['DING', 'Ding'],
  ['CHIME', 'Chime'],
  ['NONE', 'No sound'],
] as const;

const COUNTS = [
  ['ALL', 'All unread messages'],
  ['DIRECT_MESSAGES_MENTIONS_AND_FOLLOWED_TOPICS', 'Direct messages, mentions and followed topics'],
  ['DIRECT_MESSAGES_AND_MENTIONS', 'Direct messages and mentions'],
  ['NONE', 'None'],
] as const;

/** Settings that decide which messages notify the user, and how. */
export const NotificationSettings = () => (
  <>
    <SettingsForm Fields={Fields} />
    <PushDevices />
  </>
);

function Fields(props: SettingProps) {
  const { settings, change } = props;
  return (
    <>
      <Permission />
      <table className="settings-table">
        <thead>
          <tr>
            <th scope="col">Messages</th>
            {COLUMNS.map(([heading]) => (
              <th scope="col" key={heading}>
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ROWS.map(([label, ...names]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {names.map((name, i) => (
                <td key={name}>
                  <Check
                    label={`${label}: ${COLUMNS[i]?.[1]}`}
                    checked={settings[name]}
                    onChange={({ currentTarget: { checked } }) => void change({ [name]: checked })}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="soft">
        Push notifications and emails are sent while you are away, and not for alert words. Push notifications are shown
        in each browser in which you have allowed notifications.
      </p>
      <Switches
        {...props}
        legend="Treat mentions of everyone, such as @all, as mentions of me"
        of={[
          ['wildcardMentionsNotify', 'In channels without their own setting'],
          ['enableFollowedTopicWildcardMentionsNotify', 'In followed topics'],
        ]}
      />
      <FormSection title="Desktop notifications">
        <Switches
          {...props}
          of={[['directMessageContentInDesktopNotifications', 'Show the text of direct messages']]}
        />
        <ChoiceSetting
          {...props}
          name="notificationSound"
          label="Sound"
          options={SOUNDS}
          change={(input) => {
            if (input.notificationSound != null) play(input.notificationSound);
            return change(input);
          }}
        />
        <ChoiceSetting
          {...props}
          name="desktopIconCountDisplay"
          label="Unread count in the tab title and on the icon"
          options={COUNTS}
        />
      </FormSection>
      <FormSection title="Push notifications and emails">
        <Switches
          {...props}
          of={[
            ['enableOnlinePushNotifications', 'Send push notifications even while I am active'],
            ['messageContentInEmailNotifications', 'Show the text of messages in emails'],
            [
              'enableDigestEmails',
              'Send a weekly digest after five days without activity, if the organization sends digests',
            ],
            ['enableLoginEmails', 'Send an email when my account is used to sign in from a new device'],
          ]}
        />
      </FormSection>
      <FormSection title="Quiet hours">
        <QuietHoursFields {...props} />
      </FormSection>
    </>
  );
}

/** Hours that are suggested when the user turns on quiet hours. */
const USUAL_HOURS = '22:00-07:00';

/** Hours of the day in which the user is not disturbed. If the user has no time zone, saving them sets that of the device. */
function QuietHoursFields({ settings, change }: SettingProps) {
  const hours = parseQuietHours(settings.quietHours);
  const timezone = settings.timezone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const save = (quietHours: string) => void change({ quietHours, ...(quietHours !== '' && { timezone }) });
  const saveValid = (from: string, until: string) => {
    const text = `${from}-${until}`;
    if (text !== settings.quietHours && parseQuietHours(text) !== undefined) save(text);
  };
  return (
    <>
      <Check
        label="Pause push notifications, desktop notifications and sounds during these hours"
        checked={hours !== undefined}
        onChange={({ currentTarget: { checked } }) => save(checked ? USUAL_HOURS : '')}
      />
      {hours !== undefined && (
        <div className="setting-times">
          <TextField
            label="From"
            type="time"
            defaultValue={hours.from}
            onBlur={({ currentTarget: { value } }) => saveValid(value, hours.until)}
          />
          <TextField
            label="Until"
            type="time"
            defaultValue={hours.until}
            onBlur={({ currentTarget: { value } }) => saveValid(hours.from, value)}
          />
        </div>
      )}
      {hours !== undefined && <p className="soft">The times are in your time zone, {timezone.replaceAll('_', ' ')}.</p>}
    </>
  );
}

/** Note about the permission that the browser has or has not given, if the user can or must change it. */
function Permission() {
  if (!('Notification' in window))
    return (
      <p className="soft">
        Notifications are not available: the browser does not support them, or the connection is not secure.
      </p>
    );
  if (Notification.permission !== 'denied') return null;
  return <p className="soft">Desktop notifications are blocked in your browser settings.</p>;
}
