import { useCommand } from '../api/use-command.ts';
import { type OwnProfileQuery, SetAvatarDocument } from '../generated/graphql.ts';
import { Refusal } from '../ui/form.tsx';
import { ImageField } from '../ui/image-field.tsx';
import { Avatar } from '../ui/person.tsx';

interface Props {
  readonly viewer: Pick<
    NonNullable<OwnProfileQuery['viewer']>,
    'largeAvatarUrl' | 'avatarUrl' | 'avatarSource' | 'fullName'
  >;
  /** Whether only administrators can change images. */
  readonly isFixed: boolean;
}

/** Field for the viewer's image: an uploaded file, or the organization's default. */
export function AvatarField({ viewer, isFixed }: Props) {
  const { run, refusal, isBusy } = useCommand(SetAvatarDocument);
  return (
    <ImageField
      legend="Image"
      image={<Avatar person={viewer} url={viewer.largeAvatarUrl} size={88} />}
      isUploaded={viewer.avatarSource === 'UPLOADED'}
      isFixed={isBusy || isFixed}
      onSet={(image) => void run({ input: { image } })}
    >
      <small className="field-hint">PNG, JPEG, WebP or GIF, 5 MiB at most.</small>
      <Refusal>{refusal}</Refusal>
    </ImageField>
  );
}
