/** The part of `Settings` that the page's rules use, without GraphQL types. */

export type Source = 'gitprovider' | 'internal_source' | 'internal_container' | 'external_container'

export interface StoredSettings {
  source: Source
  sourceConfig: { resourceSpec: object | null }
  /** `setAt` null: unknown */
  secrets: readonly { name: string; setAt: string | null }[]
  tags: readonly { key: string; value: string }[]
}
