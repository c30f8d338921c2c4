/** Reads the sign-in code or error from the URL fragment, then removes it. Servers and logs never see a fragment. */

interface Fragment {
  code: string | null
  /** message for users; null: no error */
  error: string | null
}

/** Error codes of src/domain/sessions/login.ts. */
const LOGIN_ERRORS: Record<string, string> = {
  denied: 'You were not signed in: your organization’s login has refused it, or you have cancelled it.',
  state_mismatch: 'This sign-in started in another browser or was already used. Sign in again.',
  expired: 'The sign-in took longer than ten minutes. Sign in again.',
  no_access:
    'You have no role here. Ask your organization’s login administrator for the role viewer, deployer or admin.',
  unavailable:
    'Your organization’s login does not answer at the moment. Try again in a moment, or sign in with an API key.',
  not_configured: 'Organization login is turned off. Sign in with an API key.',
}
const UNKNOWN_ERROR = 'Your organization’s login returned an invalid answer.'

export function takeFragment(): Fragment {
  const said = new URLSearchParams(location.hash.slice(1))
  const code = said.get('code')
  const error = said.get('error')
  if (code !== null || error !== null) history.replaceState(history.state, '', location.pathname + location.search)
  return { code, error: error === null ? null : errorMessage(error, said.get('request_id')) }
}

function errorMessage(error: string, requestId: string | null): string {
  const known = Object.hasOwn(LOGIN_ERRORS, error) ? LOGIN_ERRORS[error] : undefined
  if (known) return known
  return requestId === null
    ? UNKNOWN_ERROR
    : `${UNKNOWN_ERROR} The log of the server says why, at ${requestId.slice(0, 128)}.`
}
