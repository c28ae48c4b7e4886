import { IdentityList } from '../people/linked-identities.tsx';

/** The identities with which the viewer can sign in. */
export function LinkedIdentities() {
  return (
    <section className="form-section" aria-labelledby="identities-title">
      <h3 id="identities-title">Linked identities</h3>
      <IdentityList />
    </section>
  );
}
