/** What the page's policy knows our own styles by: the server writes it into index.html, another one each time. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? ''
