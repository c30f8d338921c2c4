/** The version that an image reference tells. */

/** The tag, else the digest (`sha256:…`), else undefined. A port of the registry is no tag. */
export function imageVersion(imageUri: string): string | undefined {
  const [name = '', digest] = imageUri.split('@', 2)
  const tag = /:([^:/]+)$/.exec(name)?.[1]
  return tag ?? (digest || undefined)
}
