import type { ProfileFragment } from '../generated/graphql.ts';
import { dress } from '../markdown/markup.ts';
import { PersonButton } from './open-person.tsx';

type Value = ProfileFragment['profileData'][number];

/** The values of a user's profile fields, formatted by type. */
export function ProfileValues({ values }: { readonly values: readonly Value[] }) {
  const filled = values.filter(({ value }) => value !== '');
  if (filled.length === 0) return null;
  return (
    <dl className="facts">
      {filled.map((one) => (
        <div key={one.field.id}>
          <dt>{one.field.name}</dt>
          <dd>
            <Shown {...one} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Shown({ field, value, renderedValue, users }: Value) {
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service renders and sanitizes this HTML.
  if (renderedValue !== null) return <div dangerouslySetInnerHTML={{ __html: dress(renderedValue) }} />;
  switch (field.type) {
    case 'USER':
      return users?.map(({ id, fullName }) => (
        <PersonButton key={id} userId={id}>
          {fullName}
        </PersonButton>
      ));
    case 'URL':
      return <Out to={value}>{value}</Out>;
    case 'EXTERNAL_ACCOUNT':
      return <Out to={(field.urlPattern ?? '').replace('%(username)s', encodeURIComponent(value))}>{value}</Out>;
    case 'DROPDOWN':
      return field.choices?.find(({ key }) => key === value)?.text ?? value;
    case 'DATE':
      return new Date(`${value}T00:00`).toLocaleDateString(undefined, { dateStyle: 'long' });
    default:
      return value;
  }
}

/**
 * A link to a URL that another user wrote. If the scheme of the URL is not HTTP or HTTPS, only the text of the link is shown.
 */
function Out({ to, children }: { readonly to: string; readonly children: string }) {
  if (!/^https?:\/\//i.test(to)) return children;
  return (
    <a href={to} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
