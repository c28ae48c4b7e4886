import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { ReportMessageDocument, type ReportType } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Choice, Field, Refusal } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';

/** All reasons that the service accepts, `OTHER` last. */
const REASONS: Readonly<Record<ReportType, string>> = {
  SPAM: 'Spam',
  HARASSMENT: 'Harassment',
  INAPPROPRIATE: 'Inappropriate content',
  NORMS: 'Violates community norms',
  OTHER: 'Another reason',
};
const OPTIONS = Object.entries(REASONS) as [ReportType, string][];
const MAX_LENGTH = 1000;

interface Props {
  readonly messageId: string;
  readonly sender: string;
}

/** Dialog that reports a message to the moderators. */
export function ReportDialog(props: Props) {
  return (
    <Dialog title="Report this message">
      <ReportForm {...props} />
    </Dialog>
  );
}

function ReportForm({ messageId, sender }: Props) {
  const close = useClose();
  const command = useCommand(ReportMessageDocument);
  const [reportType, setReportType] = useState<ReportType>('SPAM');
  const isOther = reportType === 'OTHER';
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const description = String(new FormData(event.currentTarget).get('description') ?? '').trim();
    if (!(await command.run({ input: { messageId, reportType, description } }))) return;
    close();
    notify(`The message by ${sender} was reported to the moderators.`);
  };
  return (
    <form className="form" onSubmit={submit}>
      <p>The moderators will see the message by {sender} and your text.</p>
      <Choice label="Reason" options={OPTIONS} value={reportType} onChoose={setReportType} data-autofocus />
      <Field label={isOther ? 'Describe the problem' : 'Additional details'} hint={isOther ? 'Required.' : 'Optional.'}>
        <textarea className="input" name="description" rows={3} maxLength={MAX_LENGTH} required={isOther} />
      </Field>
      <Refusal>{command.refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={command.isBusy}>
          Report
        </Button>
      </div>
    </form>
  );
}
