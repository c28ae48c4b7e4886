import { useData } from '../api/use-data.ts';
import { SignInMethodsDocument } from '../generated/graphql.ts';

/** Links to the identity providers with which people can sign in. They return to the current view. */
export function ExternalMethods() {
  const read = useData(SignInMethodsDocument, {});
  // The method `browser` is for clients that open this page.
  const { externalAuthenticationMethods = [] } = read.data?.serverSettings ?? {};
  const methods = externalAuthenticationMethods.filter(({ name }) => name !== 'browser');
  if (methods.length === 0) return null;
  const { pathname, search, hash } = window.location;
  const query = new URLSearchParams({ next: `${pathname}${search}${hash}` });
  return (
    <section aria-label="Single sign-on">
      {methods.map(({ name, displayName, loginUrl }) => (
        <a key={name} className="button button-plain sign-in-method" href={`${loginUrl}?${query}`}>
          <bdi>{displayName}</bdi>
        </a>
      ))}
    </section>
  );
}
