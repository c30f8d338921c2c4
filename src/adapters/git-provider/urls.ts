/** URLs of the provider: its web site, and the repository that a URL names. */

/** `https://api.github.com` → `https://github.com`, `https://HOST/api/v3` → `https://HOST`, others: the origin. */
export function webUrlOf(apiUrl: string): string {
  const { origin, hostname } = new URL(apiUrl)
  return hostname === 'api.github.com' ? 'https://github.com' : origin
}

/** `owner/name` of a clone URL on this web site; null for other URLs and for URLs with credentials. */
export function repositoryOf(webUrl: string, repoUrl: string): string | null {
  if (!URL.canParse(repoUrl)) return null
  const { origin, username, password, pathname, search, hash } = new URL(repoUrl)
  if (origin !== new URL(webUrl).origin || username || password || search || hash) return null
  const found = /^\/([\w-][\w.-]*)\/([\w.-]+?)(?:\.git)?\/?$/.exec(pathname)
  const [, owner, name] = found ?? []
  return owner && name && !/^\.{1,2}$/.test(name) ? `${owner}/${name}` : null
}
