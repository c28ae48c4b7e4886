import { type ReactNode, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { NOT_RETURNED, refusalIn } from '../base/refusals.ts';
import { ContinueInAppDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { Header } from '../ui/header.tsx';

/** Page that continues the sign-in of the browser in the client that opened it. */
export function AppSignIn({ menu }: { readonly menu: ReactNode }) {
  const client = useClient();
  const [code, setCode] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const query = new URLSearchParams(window.location.search);
  const [mobile, desktop] = [query.get('mobile_flow_otp'), query.get('desktop_flow_otp')];
  const secret = mobile ?? desktop;
  const proceed = async () => {
    const input = { kind: mobile === null ? ('DESKTOP' as const) : ('MOBILE' as const), secret: secret ?? '' };
    const { data, error } = await mutate(client, ContinueInAppDocument, { input });
    setRefusal(refusalIn(data ?? undefined, error));
    const result = data?.continueInApp;
    if (result?.__typename !== 'ContinueInAppPayload') return;
    if (result.url != null) window.location.assign(result.url);
    else if (result.desktopCode != null) setCode(result.desktopCode);
    else setRefusal(NOT_RETURNED.desktopCode);
  };
  return (
    <>
      <Header menu={menu} title="Sign in to the app" />
      <div className="page">
        <section className="page-section form">
          {secret === null ? (
            <p>Start signing in from the app.</p>
          ) : code === undefined ? (
            <>
              <p>
                Continue only if you have just started signing in from the app. The app gets access to your account.
              </p>
              <Refusal>{refusal}</Refusal>
              <div>
                <Button kind="primary" onClick={() => void proceed()}>
                  Continue in the app
                </Button>
              </div>
            </>
          ) : (
            <>
              <p>Copy this code and paste it into the app within one minute.</p>
              <TextField label="Code" readOnly value={code} onFocus={(event) => event.currentTarget.select()} />
            </>
          )}
        </section>
      </div>
    </>
  );
}
