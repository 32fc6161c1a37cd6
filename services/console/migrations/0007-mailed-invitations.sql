-- An invitation whose link was mailed proves that its address belongs to the person with the token.
ALTER TABLE invitation ADD COLUMN is_mailed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN invitation.is_mailed IS 'False: the inviter has the link, which proves nothing about the address.';
