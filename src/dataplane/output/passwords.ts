/** What must not be shown of URLs, with spaces between: those of package indexes may have a password. */
export function passwordsOf(urls: string): string[] {
  const found = urls.split(/\s+/).filter((url) => URL.canParse(url))
  return found.flatMap((url) => {
    const { password } = new URL(url)
    return password ? [password, decodeURIComponent(password)] : []
  })
}
