/** Mantine links and buttons as router links: typed, and preloaded on hover. */
import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type Native<Props> = Props &
  Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof Props> & { ref?: Ref<HTMLAnchorElement> }

export const LinkTo = createLink((props: Native<AnchorProps>) => <Anchor {...props} />)
export const ButtonTo = createLink((props: Native<ButtonProps>) => <Button component="a" {...props} />)
export const NavLinkTo = createLink((props: Native<NavLinkProps>) => <NavLink component="a" {...props} />)
