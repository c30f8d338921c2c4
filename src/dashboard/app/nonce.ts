/** The nonce of the content security policy for inline styles. The server writes a new one into each index.html. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
