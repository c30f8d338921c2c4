/** Passwords in URLs separated by spaces, such as those of package indexes. */
export function passwordsOf(urls: string): string[] {
  const found = urls.split(/\s+/).filter((url) => URL.canParse(url))
  return found.flatMap((url) => {
    const { password } = new URL(url)
    return password ? [password, decodeURIComponent(password)] : []
  })
}
