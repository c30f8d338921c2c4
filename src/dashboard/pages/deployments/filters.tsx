/** The list's filters: a search, and chips with counts. */
import { ActionIcon, CloseButton, Select, Text, TextInput, UnstyledButton } from '@mantine/core'
import { useDebouncedCallback, useHotkeys } from '@mantine/hooks'
import { IconBaselineDensityMedium, IconBaselineDensitySmall, IconSearch } from '@tabler/icons-react'
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { SOURCE_LABELS, type Tone } from '../../components/labels.ts'
import classes from './deployments.module.css'
import type { Search, Sort, View } from './search.ts'
import type { Counts } from './use-counts.ts'

interface FiltersProps {
  search: Search
  onChange(changes: Search): void
  view: View
  onSort(sort: Sort): void
  onDense(dense: boolean): void
  counts: Counts | null
  /** moves the focus from the search to the list */
  onDown(): void
}

export function Filters({ search, onChange, view: { sort, dense }, onSort, onDense, counts, onDown }: FiltersProps) {
  const { state, source, listener, tag } = search
  const states = [
    { state: undefined, word: 'All', count: counts?.states.total, tone: undefined },
    { state: 'serving', word: 'Serving', count: counts?.states.serving, tone: 'good' },
    { state: 'down', word: 'Not serving', count: counts?.states.notServing, tone: 'bad' },
    { state: 'failing', word: 'Failing', count: counts?.states.failing, tone: 'bad' },
    {
      state: 'busy',
      word: 'In progress',
      count: counts && counts.states.waiting - counts.states.latestRevisionWaits,
      tone: 'busy',
    },
    { state: 'waiting', word: 'Waiting', count: counts?.states.latestRevisionWaits, tone: 'waiting' },
  ] as const
  const sources = counts?.sources ?? []
  const listeners = counts?.listeners ?? []
  const areListeners = listeners.length > 1 || listener !== undefined
  const choose = (id: string | null) => onChange({ listener: id === listener ? undefined : (id ?? undefined) })
  return (
    <div className={classes.filters}>
      <div className={classes.line}>
        <SearchBox value={search.q ?? ''} onChange={(q) => onChange({ q: q || undefined })} onDown={onDown} />
        <Chips legend="State">
          {states.map((one) => (
            <Chip
              key={one.word}
              checked={state === one.state}
              onClick={() => onChange({ state: one.state })}
              count={one.count}
              tone={one.tone}
            >
              {one.word}
            </Chip>
          ))}
        </Chips>
      </div>
      <div className={classes.line}>
        <div className={classes.chips}>
          {(sources.length > 1 || source) && (
            <Chips legend="Source">
              {sources.map((one) => (
                <Chip
                  key={one.source}
                  checked={source === one.source}
                  onClick={() => onChange({ source: source === one.source ? undefined : one.source })}
                  count={one.count}
                >
                  {SOURCE_LABELS[one.source]}
                </Chip>
              ))}
            </Chips>
          )}
          {areListeners && listeners.length <= MAX_LISTENER_CHIPS && (
            <Chips legend="Listener">
              {listeners.map(({ id, name, count }) => (
                <Chip key={id} checked={listener === id} onClick={() => choose(id)} count={count}>
                  {name}
                </Chip>
              ))}
            </Chips>
          )}
        </div>
        <div className={classes.selects}>
          {areListeners && listeners.length > MAX_LISTENER_CHIPS && (
            <Select
              size="xs"
              aria-label="Listener"
              placeholder="Any listener"
              clearable
              searchable
              value={listener ?? null}
              onChange={choose}
              data={listeners.map(({ id, name, count }) => ({
                value: id,
                label: `${name} · ${NUMBER.format(count)}`,
              }))}
            />
          )}
          {counts !== null && (counts.tags.length > 0 || tag) && (
            <Select
              size="xs"
              aria-label="Tag"
              placeholder="Any tag"
              clearable
              searchable
              value={tag ?? null}
              onChange={(value) => onChange({ tag: value ?? undefined })}
              data={counts.tags.map(({ id, key, value, count }) => ({
                value: id,
                label: `${key}: ${value} · ${NUMBER.format(count)}`,
              }))}
            />
          )}
          <Select
            size="xs"
            aria-label="Order"
            allowDeselect={false}
            value={sort}
            onChange={(value) => onSort(value as Sort)}
            data={ORDERS}
          />
          <ActionIcon
            variant="default"
            className={classes.density}
            aria-label="Dense rows"
            title="Dense rows"
            aria-pressed={dense}
            onClick={() => onDense(!dense)}
          >
            {dense ? <IconBaselineDensitySmall size={16} /> : <IconBaselineDensityMedium size={16} />}
          </ActionIcon>
        </div>
      </div>
    </div>
  )
}

/** With more listeners, a menu replaces the chips. */
const MAX_LISTENER_CHIPS = 4

function Chips({ legend, children }: { legend: string; children: ReactNode }) {
  return (
    <fieldset className={classes.chips}>
      <legend className={classes.legend}>{legend}</legend>
      {children}
    </fieldset>
  )
}

const ORDERS = [
  { value: 'attention', label: 'Needs attention first' },
  { value: 'name', label: 'Name A–Z' },
  { value: '-name', label: 'Name Z–A' },
  { value: '-changed', label: 'Recently changed' },
  { value: 'changed', label: 'Least recently changed' },
  { value: '-created', label: 'Newest first' },
  { value: 'created', label: 'Oldest first' },
]

const NUMBER = new Intl.NumberFormat()

interface ChipProps {
  checked: boolean
  onClick(): void
  /** null or undefined while loading */
  count: number | null | undefined
  tone?: Tone | undefined
  children: ReactNode
}

function Chip({ checked, onClick, count, tone, children }: ChipProps) {
  return (
    <UnstyledButton
      className={classes.chip}
      aria-pressed={checked}
      onClick={onClick}
      data-tone={count ? tone : undefined}
    >
      {children}
      <Text span inherit className={classes.count}>
        {count == null ? '…' : NUMBER.format(count)}
      </Text>
    </UnstyledButton>
  )
}

/** pause in typing before a search */
const DEBOUNCE_MS = 180

interface SearchBoxProps {
  value: string
  onChange(value: string): void
  onDown(): void
}

function SearchBox({ value, onChange, onDown }: SearchBoxProps) {
  const [typed, setTyped] = useState(value)
  const box = useRef<HTMLInputElement>(null)
  const said = useRef(value)
  // back navigation or a link changed the search
  useEffect(() => {
    if (value !== said.current) setTyped(value)
    said.current = value
  }, [value])
  const report = useDebouncedCallback((text: string) => {
    said.current = text
    onChange(text)
  }, DEBOUNCE_MS)
  const type = (text: string) => {
    setTyped(text)
    report(text)
  }
  useHotkeys([['/', () => box.current?.focus()]])
  const keys = ({ key }: KeyboardEvent) => {
    if (key === 'Escape') type('')
    if (key === 'ArrowDown') onDown()
  }
  return (
    <TextInput
      ref={box}
      className={classes.search}
      aria-label="Search by name"
      placeholder="Search by name  ( / )"
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={typed && <CloseButton size="sm" aria-label="Clear the search" onClick={() => type('')} />}
      value={typed}
      onChange={(event) => type(event.currentTarget.value)}
      onKeyDown={keys}
      maxLength={200}
    />
  )
}
