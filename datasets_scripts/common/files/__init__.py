"""Reading files of every form in which releases come, and downloading them."""
